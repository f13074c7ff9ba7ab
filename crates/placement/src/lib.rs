//! Where bundles should be: hash-ring maths, the load model and every placement decision of the broker.
//!
//! Everything here is pure. Clocks, randomness and the view of the cluster are arguments; nothing opens a socket, starts
//! a task or writes a log. The same inputs therefore give the same decision, and each decision can be replayed.

pub mod balancer;
pub mod bundle;
mod constraints;
pub mod explain;
pub mod extensible;
pub mod filter;
pub mod load;
pub mod modular;
mod names;
pub mod own;
pub mod planner;
pub mod record;
mod registry;
mod selection;
pub mod service_unit;
mod settings;
pub mod simple;
pub mod split;

pub use constraints::{Constraints, StoredConstraints};
pub use names::{BrokerId, BundleName};
pub use registry::{ManagerError, ManagerKind, Registry, UnknownPolicy};
pub use selection::{Score, ScoreRule, Selection};
pub use settings::Settings;
