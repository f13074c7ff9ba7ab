//! What the shards of a broker share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plerion_clock::SharedClock;
use plerion_config::LiveSettings;
use plerion_ledger::Epoch;
use plerion_metadata::SharedMetadataStore;
use plerion_resources::Resources;

use crate::addresses::Addresses;
use crate::authorizer::Authorizer;
use crate::budget::PublishBudget;
use crate::mesh::Doors;
use crate::metrics::ShardCounters;
use crate::namespaces::Namespaces;

/// What the shards of a broker share.
pub(crate) struct Core {
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) clock: SharedClock,
    pub(crate) metadata: SharedMetadataStore,
    pub(crate) resources: Resources,
    pub(crate) namespaces: Namespaces,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) addresses: Addresses,
    pub(crate) doors: Doors,
    pub(crate) publishing: Arc<PublishBudget>,
    pub(crate) counters: Vec<Arc<ShardCounters>>,
    /// This broker's term: greater than that of every earlier start.
    pub(crate) epoch: Epoch,
    pub(crate) names: NameGenerator,
    pub(crate) topic_changes: crate::watchers::TopicChanges,
    /// Lookups being served.
    pub(crate) lookups: tokio::sync::Semaphore,
}

/// Makes producer names that no other producer of the cluster ever had. They must not repeat after a restart either:
/// deduplication would take a newcomer's messages for those of its namesake.
#[derive(Debug)]
pub(crate) struct NameGenerator {
    prefix: String,
    next: AtomicU64,
}

impl NameGenerator {
    /// Names under `cluster`, for the start of a broker numbered `start` in its cluster.
    pub(crate) fn new(cluster: &str, start: u64) -> Self {
        Self { prefix: format!("{cluster}-{start}"), next: AtomicU64::new(0) }
    }

    pub(crate) fn next(&self) -> String {
        format!("{}-{}", self.prefix, self.next.fetch_add(1, Ordering::Relaxed))
    }
}
