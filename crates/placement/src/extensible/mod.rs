//! The Extensible load manager (PIP-192): brokers publish a moving average of their load, the leader evens it out by
//! transfers, and each broker splits its own bundles.

mod place;
mod policies;
mod recent;
mod transfer;

pub use place::select_least_usage;
pub use policies::{ClusterPolicies, default_filters};
pub use recent::RecentUnloads;
pub use transfer::{ClusterLoad, TransferRules, TransferShedder};
