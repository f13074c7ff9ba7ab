//! The rows of topics and bundles in the metadata store.

mod bundle;
mod cas;
mod topic;

pub(crate) use bundle::BundleRow;
pub(crate) use cas::{Cas, Stored};
pub(crate) use topic::{Checkpoint, State, TopicRow};
pub use topic::{LedgerInfo, Properties};

#[cfg(test)]
mod tests;
