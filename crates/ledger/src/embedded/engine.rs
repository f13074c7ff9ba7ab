//! What all threads of a store share.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex, RwLock};
use plerion_clock::SharedClock;

use super::config::Config;
use super::deleted::Deleted;
use super::index::PageCache;
use super::journal::Journal;
use super::located::LocatedCache;
use super::metrics::Metrics;
use super::readers::Readers;
use super::seed::Seed;
use super::segment::Segment;
use super::supply::Supply;
use crate::LedgerId;
use crate::disk::{self, Disk};

/// The state of an open store.
pub(crate) struct Engine {
    pub(crate) config: Config,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: SharedClock,
    pub(crate) metrics: Metrics,
    pub(crate) seed: Seed,
    pub(crate) segments: Segments,
    pub(crate) pages: Arc<PageCache>,
    pub(crate) located: LocatedCache,
    pub(crate) deleted: Deleted,
    pub(crate) supply: Supply,
    pub(crate) journals: Vec<Journal>,
    pub(crate) readers: Readers,
    pub(crate) next_ledger: AtomicU64,
    /// Durably above all ledgers' numbers.
    pub(crate) ceiling: AtomicU64,
    /// How many shards share the cache.
    pub(crate) shards: AtomicUsize,
    /// Bytes of blocks in memory, over all shards.
    pub(crate) cached_bytes: Arc<AtomicUsize>,
    pub(crate) upkeep: Signal,
    pub(crate) preparation: Signal,
}

impl Engine {
    /// A number for a new ledger. `None` while the disk takes no note of how far the numbers have come.
    pub(crate) fn next_ledger(&self) -> Option<LedgerId> {
        let number = self.next_ledger.fetch_add(1, Ordering::Relaxed);
        (number < self.ceiling.load(Ordering::Acquire)).then_some(LedgerId(number))
    }

    /// Sees to it that the ceiling is well above the numbers in use.
    pub(crate) fn raise_ceiling(&self) -> io::Result<()> {
        let wanted = self.next_ledger.load(Ordering::Relaxed) + CEILING_STEP;
        if wanted - self.ceiling.load(Ordering::Acquire).min(wanted) > CEILING_STEP / 2 {
            disk::replace(&*self.disk, super::layout::CEILING, format!("{wanted}\n").as_bytes())?;
            self.ceiling.store(wanted, Ordering::Release);
        }
        Ok(())
    }

    /// The ledgers that are there, ascending.
    pub(crate) fn list(&self) -> io::Result<Vec<LedgerId>> {
        let mut ledgers = Vec::new();
        for segment in self.segments.all() {
            let summaries = self.checked(&segment, Segment::summaries)?;
            ledgers.extend(summaries.iter().map(|summary| LedgerId(summary.ledger)));
        }
        ledgers.sort_unstable();
        ledgers.dedup();
        ledgers.retain(|ledger| !self.deleted.contains(ledger.0));
        Ok(ledgers)
    }

    /// The journal that holds `ledger` open, or, if none does, the one that decides about it.
    pub(crate) fn journal_of(&self, ledger: LedgerId) -> usize {
        let open = self.journals.iter().position(|journal| journal.holds(ledger.0));
        open.unwrap_or((ledger.0 % self.journals.len() as u64) as usize)
    }

    /// Notes a damaged record where an operator and the metrics see it.
    pub(crate) fn report_damage(&self, segment: u64, offset: u64, length: u64, what: &str) {
        self.metrics.corrupt_records.add(1);
        tracing::error!(file = super::layout::segment_name(segment), offset, length, "damaged: {what}");
    }
}

/// How far ahead of the numbers in use the ceiling is put. A restart skips the numbers below it.
const CEILING_STEP: u64 = 1 << 20;

/// The segments with data, by number.
#[derive(Default)]
pub(crate) struct Segments {
    by_number: RwLock<BTreeMap<u64, Arc<Segment>>>,
    /// How often the place of some entry changed.
    version: AtomicU64,
}

impl Segments {
    pub(crate) fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        let by_number = segments.into_iter().map(|segment| (segment.number, segment)).collect();
        Self { by_number: RwLock::new(by_number), version: AtomicU64::new(0) }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Segment>> {
        self.by_number.read().values().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_number.read().len()
    }

    /// Adds a segment and takes others out.
    pub(crate) fn replace(&self, added: Option<Arc<Segment>>, removed: &[u64]) {
        let mut by_number = self.by_number.write();
        by_number.retain(|number, _| !removed.contains(number));
        by_number.extend(added.map(|segment| (segment.number, segment)));
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes whenever what was found out about a ledger's places may be outdated.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

/// Wakes a thread that looks after something, and stops it.
#[derive(Default)]
pub(crate) struct Signal {
    raised: Mutex<bool>,
    changed: Condvar,
    stopped: AtomicBool,
}

impl Signal {
    pub(crate) fn raise(&self) {
        *self.raised.lock() = true;
        self.changed.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.raise();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Waits until raised or for `timeout`. Returns whether to go on.
    pub(crate) fn wait(&self, timeout: std::time::Duration) -> bool {
        let mut raised = self.raised.lock();
        if !*raised {
            self.changed.wait_for(&mut raised, timeout);
        }
        *raised = false;
        !self.is_stopped()
    }

    /// Waits for `time` unless stopped. Returns whether to go on.
    pub(crate) fn pause(&self, time: std::time::Duration) -> bool {
        let mut raised = self.raised.lock();
        if !self.is_stopped() {
            self.changed.wait_for(&mut raised, time);
        }
        !self.is_stopped()
    }
}

/// An I/O error as it goes into this crate's errors.
pub(crate) fn cause(error: &io::Error) -> Arc<str> {
    Arc::from(error.to_string())
}
