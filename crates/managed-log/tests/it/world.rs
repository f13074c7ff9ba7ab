//! The stores and the clock of a test, and crashes of the process that uses them.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plerion_clock::ManualClock;
use plerion_ledger::Epoch;
use plerion_ledger::memory::MemoryStore;
use plerion_managed_log::{Config, Context, StateLog};

use crate::metadata::TestMetadata;

pub(crate) const BUNDLE: &str = "/bundles/0";
pub(crate) const TOPIC: &str = "/managed-ledgers/public/default/persistent/t";

pub(crate) struct World {
    pub(crate) ledgers: MemoryStore,
    pub(crate) metadata: TestMetadata,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) config: Config,
    pub(crate) epoch: u64,
}

impl World {
    /// Ledgers of five entries; nothing is merged into rows unless a test wants it.
    pub(crate) fn new() -> Self {
        let config = Config { max_entries_per_ledger: 5, min_rollover: Duration::ZERO, ..Config::default() };
        Self {
            ledgers: MemoryStore::new(),
            metadata: TestMetadata::new(),
            clock: ManualClock::starting_at(1_000_000),
            config,
            epoch: 1,
        }
    }

    pub(crate) fn context(&self) -> Context {
        Context {
            store: self.ledgers.shard(),
            metadata: Arc::new(self.metadata.clone()),
            clock: Arc::clone(&self.clock) as _,
            config: Rc::new(self.config.clone()),
            journal_key: 0,
        }
    }

    pub(crate) async fn bundle(&self) -> StateLog {
        StateLog::open(self.context(), BUNDLE, Epoch(self.epoch)).await.unwrap()
    }

    /// The process dies; of what was not acknowledged, `kept` entries per ledger survive.
    pub(crate) fn crash(&mut self, kept: usize, keep_eventual: bool) {
        self.ledgers.crash(kept);
        self.metadata = self.metadata.crash(keep_eventual);
        self.epoch += 1;
    }

    pub(crate) async fn ledger_count(&self) -> usize {
        self.ledgers.shard().list().await.unwrap().len()
    }
}

/// Runs a test on a shard of its own; one that hangs fails.
pub(crate) fn on_shard<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let test = async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("this should not take 60 s") };
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// Lets the other tasks of the shard run for a while.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}
