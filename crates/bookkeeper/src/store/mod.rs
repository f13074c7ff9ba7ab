//! BookKeeper as a ledger store.
//!
//! Each shard has its own connections and machines; they share the metadata store.

mod read;
mod recover;
mod runner;
mod shard;
mod tail;
mod writer;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use plerion_clock::SharedClock;
use plerion_ledger::LedgerStore;
use plerion_metadata::SharedMetadataStore;

use crate::digest::DigestType;
use crate::directory::{Directory, DirectoryError};
use crate::net;
use crate::placement::Quarantine;
use crate::quorum::Quorum;

/// What a store is made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the cluster's tree is in the metadata store.
    pub root: String,
    /// Ensemble, write quorum and ack quorum of new ledgers.
    pub quorum: Quorum,
    /// The digest of new ledgers.
    pub digest: DigestType,
    /// The password of all ledgers.
    pub password: Bytes,
    /// Custom metadata of new ledgers.
    pub custom: Vec<(String, Bytes)>,
    /// How connections behave.
    pub connections: net::Settings,
    /// When bookies are avoided.
    pub quarantine: Quarantine,
    /// How often the ensemble of one ledger may change.
    pub max_ensemble_changes: u32,
    /// Entries of one ledger that may wait for acknowledgement.
    pub max_pending_entries: usize,
    /// Bytes of one ledger that may wait for acknowledgement.
    pub max_pending_bytes: usize,
    /// Bytes of acknowledged entries that a shard keeps for readers.
    pub tail_bytes: usize,
    /// When to ask another replica for an entry as well.
    pub speculative_read: Option<Duration>,
    /// Entries a recovery reads and writes back at once.
    pub recovery_window: usize,
}

impl Config {
    /// The defaults, for ledgers with these quorums.
    pub fn new(quorum: Quorum) -> Self {
        let text = |value: &'static str| Bytes::from_static(value.as_bytes());
        Self {
            root: "/ledgers".to_owned(),
            quorum,
            digest: DigestType::Crc32c,
            password: Bytes::new(),
            custom: vec![("application".to_owned(), text("pulsar")), ("component".to_owned(), text("managed-ledger"))],
            connections: net::Settings::default(),
            quarantine: Quarantine::default(),
            max_ensemble_changes: 100,
            max_pending_entries: 100_000,
            max_pending_bytes: 256 << 20,
            tail_bytes: 64 << 20,
            speculative_read: Some(Duration::from_secs(2)),
            recovery_window: 32,
        }
    }
}

/// What the shards of a store count together.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Answers that were not the entry asked for.
    pub digest_mismatches: AtomicU64,
    /// Ensemble changes of writers.
    pub ensemble_changes: AtomicU64,
    /// Requests that a bookie did not fulfil.
    pub bookie_failures: AtomicU64,
    /// Recoveries that closed a ledger or found it closed.
    pub recoveries: AtomicU64,
}

/// A store of ledgers on the bookies of a cluster.
pub struct BookKeeperStore {
    directory: Directory,
    config: Config,
    clock: SharedClock,
    metrics: Arc<Metrics>,
}

impl BookKeeperStore {
    /// The cluster in `metadata`.
    ///
    /// # Errors
    /// [`DirectoryError`] when the metadata store fails or the cluster keeps its ledgers in an unknown way.
    pub async fn open(
        config: Config,
        metadata: SharedMetadataStore,
        clock: SharedClock,
    ) -> Result<Self, DirectoryError> {
        let directory = Directory::new(metadata, &config.root);
        directory.check_layout().await?;
        Ok(Self { directory, config, clock, metrics: Arc::default() })
    }

    /// The store as seen from the calling shard. Must be called within a [`tokio::task::LocalSet`].
    pub fn shard(&self) -> Rc<dyn LedgerStore> {
        shard::Shard::start(self.directory.clone(), self.config.clone(), self.clock.clone(), Arc::clone(&self.metrics))
    }

    /// The cluster's tree.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// What it counts.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
