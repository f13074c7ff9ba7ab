//! The Modular load manager: a leader places and sheds bundles by what all brokers report.

mod cycle;
mod data;
mod manager;
pub mod place;
mod record;
mod select;
pub mod shed;
mod state;

pub use data::{BrokerData, LoadData};
pub use manager::ModularManager;
pub use record::{ReplayError, ShedRecord};
pub use select::{Assignment, AssignmentRule, default_filters};
pub use state::ManagerState;

#[cfg(test)]
mod tests;
