//! The resources over a metadata store, and the names against recorded cases.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod administration;
mod contention;
mod flaky;
mod names;
mod outcomes;
mod schemas;
mod topics;

use std::sync::Arc;

use plerion_metadata::{MemoryStore, SharedMetadataStore};
use plerion_resources::{Bootstrap, ClusterData, Resources};

/// An empty store and the resources in it.
fn empty() -> (SharedMetadataStore, Resources) {
    let store: SharedMetadataStore = Arc::new(MemoryStore::new());
    let resources = Resources::new(&store);
    (store, resources)
}

/// A cluster as a broker finds it after its first start.
async fn started() -> (SharedMetadataStore, Resources) {
    let (store, resources) = empty();
    Bootstrap::new("standalone", ClusterData::default()).run(&resources).await.unwrap();
    (store, resources)
}
