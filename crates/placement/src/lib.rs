//! Where bundles should be: hash-ring maths, the load model and every placement decision of the broker.
//!
//! Everything here is pure. Clocks, randomness and the view of the cluster are arguments; nothing opens a socket, starts
//! a task or writes a log. The same inputs therefore give the same decision, and each decision can be replayed.

pub mod bundle;
pub mod filter;
pub mod load;
mod names;
pub mod service_unit;
mod settings;

pub use names::{BrokerId, BundleName};
pub use settings::Settings;
