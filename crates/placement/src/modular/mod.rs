//! The Modular load manager: a leader places and sheds bundles by what all brokers report.

mod data;
pub mod place;
pub mod shed;

pub use data::{BrokerData, LoadData};
