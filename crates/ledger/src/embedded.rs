//! The store of a single broker: ledgers in segment files of a directory.
//!
//! All shards append to a few journals, by default one. A journal writes everything that is queued with one write and
//! one sync into its current segment, and the segment is where the entries stay: nothing is written twice unless
//! little of a segment is still live, or its ledgers lie in pieces, after some minutes.
//!
//! ```text
//! shard: append ─► block ─┐            ┌─► segment (batches of records) ─► index file ─► rewritten, sorted
//! shard: append ─► block ─┼─► journal ─┤
//! recover, delete ────────┘            └─► shards: acknowledgements, answers
//! ```
//! Blocks stay in memory as the tail that readers are served from; what is older is read on threads of its own.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use plerion_clock::SharedClock;

use crate::LedgerStore;
use crate::disk::Disk;

mod aligned;
mod batch;
mod block;
mod config;
mod deleted;
mod engine;
mod id_hash;
mod inbox;
mod index;
mod journal;
mod layout;
mod located;
mod metrics;
mod offline;
mod open;
mod read;
mod readers;
mod record;
mod reindex;
mod rewrite;
mod scan;
mod seed;
mod segment;
mod shard;
mod supply;
mod upkeep;

pub use config::Config;
pub use metrics::{Counter, Histogram, Metrics};
pub(crate) use offline::Offline;
pub use open::OpenError;

use engine::{Engine, Segments, Signal};
use index::PageCache;
use journal::{Committer, Journal};
use supply::Supply;
use upkeep::Upkeep;

/// An open store, with its threads.
///
/// Dropping it writes what is queued and stops the threads; shards that are still there get
/// [`Unavailable`](crate::AppendError::Unavailable) from then on.
pub struct EmbeddedStore {
    engine: Arc<Engine>,
    journals: Mutex<Vec<JoinHandle<()>>>,
    helpers: Mutex<Vec<JoinHandle<()>>>,
    /// Keeps other processes out.
    #[expect(dead_code, reason = "held for what dropping it does")]
    lock: Box<dyn Send + Sync>,
}

impl EmbeddedStore {
    /// Opens the store on `disk`, which is made one if it is empty. Segments that were written when the process ended
    /// are read through, and what was not synced is cut off.
    ///
    /// # Errors
    /// [`OpenError`] when the disk is in use, holds something else, or fails.
    pub fn open(config: Config, disk: Arc<dyn Disk>, clock: SharedClock) -> Result<Arc<Self>, OpenError> {
        validate(&config)?;
        let lock = open::lock(&*disk)?;
        open::check_format(&*disk, true)?;
        let pages = PageCache::new(config.index_cache_bytes);
        let contents = open::read(&*disk, &pages, clock.monotonic())?;
        open::sweep(&*disk, &contents)?;
        let engine = Arc::new(engine_of(config, disk, clock, pages, contents));
        if let Err(error) =
            engine.raise_ceiling().and_then(|()| engine.supply.restock_reserve(engine.config.reserve_bytes))
        {
            tracing::error!(%error, "the ledger directory takes no writes at present");
        }
        let mut journals = Vec::new();
        for number in 0..engine.journals.len() {
            let committer = Committer::new(Arc::clone(&engine), number);
            journals.push(spawn(format!("journal-{number}"), move || committer.run())?);
        }
        let mut helpers = Vec::new();
        for number in 0..engine.config.read_threads {
            let engine = Arc::clone(&engine);
            helpers.push(spawn(format!("ledger-read-{number}"), move || readers::run(&engine))?);
        }
        let upkeep = Upkeep::new(Arc::clone(&engine));
        helpers.push(spawn("ledger-upkeep".into(), move || upkeep.run())?);
        let preparing = Arc::clone(&engine);
        helpers.push(spawn("ledger-prepare".into(), move || prepare(&preparing))?);
        Ok(Arc::new(Self { engine, journals: Mutex::new(journals), helpers: Mutex::new(helpers), lock }))
    }

    /// The store as seen from the calling shard. Must be called within a [`tokio::task::LocalSet`]: a local task ships
    /// what was appended and tells the sinks how that went.
    pub fn shard(&self) -> Rc<dyn LedgerStore> {
        shard::Shard::start(Arc::clone(&self.engine))
    }

    /// What it counts.
    pub fn metrics(&self) -> &Metrics {
        &self.engine.metrics
    }

    /// Bytes of memory held by blocks: the tail of what was appended, what is on its way to disk, and what readers
    /// hold.
    pub fn cached_bytes(&self) -> usize {
        self.engine.cached_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.engine.journals.iter().for_each(Journal::stop);
        join(&mut self.journals.lock());
        self.engine.readers.stop();
        self.engine.upkeep.stop();
        self.engine.preparation.stop();
        join(&mut self.helpers.lock());
    }
}

fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        if thread.join().is_err() {
            tracing::error!("a thread of the ledger store panicked");
        }
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(work)
}

fn validate(config: &Config) -> Result<(), OpenError> {
    if config.journals == 0 || config.read_threads == 0 {
        return Err(OpenError::Config("a ledger store needs at least one journal and one reading thread"));
    }
    if config.segment_bytes.max(config.first_segment_bytes) > 2 << 30 {
        return Err(OpenError::Config("a segment must not be longer than 2 GiB"));
    }
    if config.batch_bytes > 64 << 20 {
        return Err(OpenError::Config("a batch must not be longer than 64 MiB"));
    }
    Ok(())
}

fn engine_of(
    config: Config,
    disk: Arc<dyn Disk>,
    clock: SharedClock,
    pages: Arc<PageCache>,
    contents: open::Contents,
) -> Engine {
    let supply = Supply::new(Arc::clone(&disk), contents.next_segment);
    for (number, file, length) in contents.spares {
        if supply::is_long_enough(length, config.segment_bytes) && supply.ready() < config.journals {
            supply.adopt(number, file, length);
        } else if let Err(error) = disk.remove(&layout::segment_name(number)) {
            tracing::warn!(number, %error, "a spare segment could not be removed");
        }
    }
    let engine = Engine {
        journals: (0..config.journals).map(|_| Journal::default()).collect(),
        config,
        disk,
        clock,
        metrics: Metrics::default(),
        seed: seed::Seed::random(),
        segments: Segments::new(contents.segments),
        pages,
        located: Default::default(),
        deleted: Default::default(),
        supply,
        readers: Default::default(),
        next_ledger: AtomicU64::new(contents.next_ledger),
        ceiling: AtomicU64::new(0),
        shards: AtomicUsize::new(0),
        cached_bytes: Arc::default(),
        upkeep: Signal::default(),
        preparation: Signal::default(),
    };
    for segment in engine.segments.all() {
        segment.deletes().into_iter().for_each(|ledger| engine.deleted.insert(ledger));
    }
    for (segment, offset, length) in contents.damage {
        engine.report_damage(segment, offset, length, "found at start");
    }
    engine.metrics.segments.set(engine.segments.len() as u64);
    engine
}

/// Fills the next segments with zeros when a journal asks for it.
fn prepare(engine: &Engine) {
    while engine.preparation.wait(Duration::from_secs(3600)) {
        let rate = engine.config.prepare_rate;
        while rate > 0 && engine.supply.ready() < engine.journals.len() && !engine.preparation.is_stopped() {
            let pause = |bytes| engine.preparation.pause(Duration::from_secs_f64(bytes as f64 / rate as f64));
            if let Err(error) = engine.supply.fill(engine.config.segment_bytes, pause) {
                tracing::warn!(%error, "no segment could be prepared");
                break;
            }
        }
    }
}
