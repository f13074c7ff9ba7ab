//! The store over sockets, with bookies of the test's own.

mod fake;

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use plerion_bookkeeper::bookie::BookieId;
use plerion_bookkeeper::ledger_metadata::State;
use plerion_bookkeeper::quorum::Quorum;
use plerion_bookkeeper::{BookKeeperStore, Config};
use plerion_clock::SystemClock;
use plerion_ledger::{
    AppendError, AppendSink, Body, Class, Closed, CreateOptions, Epoch, Error, LedgerId, LedgerStore, LedgerWriter,
    ReadError,
};
use plerion_metadata::MemoryStore;
use tokio::sync::Notify;

use crate::scenarios::open_metadata;
use fake::Control;

#[derive(Default)]
pub(crate) struct Recorder {
    last: RefCell<Option<u64>>,
    error: RefCell<Option<AppendError>>,
    changed: Notify,
}

impl AppendSink for Recorder {
    fn advanced(&self, last: u64) {
        assert!(self.error.borrow().is_none(), "an acknowledgement after a failure");
        assert!(self.last.borrow().is_none_or(|before| before < last));
        *self.last.borrow_mut() = Some(last);
        self.changed.notify_waiters();
    }

    fn failed(&self, error: AppendError) {
        assert!(self.error.borrow_mut().replace(error).is_none(), "failed twice");
        self.changed.notify_waiters();
    }
}

impl Recorder {
    async fn until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            if done(self) {
                return;
            }
            changed.await;
        }
    }

    pub(crate) async fn advanced_to(&self, last: u64) {
        self.until(|told| *told.last.borrow() >= Some(last)).await;
    }

    pub(crate) fn last(&self) -> Option<u64> {
        *self.last.borrow()
    }

    pub(crate) async fn error(&self) -> AppendError {
        self.until(|told| told.error.borrow().is_some()).await;
        self.error.borrow().clone().unwrap()
    }
}

struct Cluster {
    bookies: Vec<(BookieId, Rc<Control>)>,
    metadata: Arc<MemoryStore>,
    store: BookKeeperStore,
    shard: Rc<dyn LedgerStore>,
}

async fn cluster(bookies: usize, quorum: (usize, usize, usize)) -> Cluster {
    cluster_with(bookies, quorum, Duration::from_secs(10)).await
}

async fn cluster_with(bookies: usize, (ensemble, write, ack): (usize, usize, usize), timeout: Duration) -> Cluster {
    let metadata = Arc::new(MemoryStore::new());
    let mut started = Vec::new();
    for number in 0..bookies {
        started.push(fake::start(&format!("bookie-{number}"), &*metadata).await);
    }
    let mut config = Config::new(Quorum::new(ensemble, write, ack).unwrap());
    config.connections.add_timeout = timeout;
    config.connections.read_timeout = timeout;
    config.speculative_read = None;
    let clock = SystemClock::shared();
    let store = BookKeeperStore::open(config, Arc::clone(&metadata) as _, clock).await.unwrap();
    let shard = store.shard();
    Cluster { bookies: started, metadata, store, shard }
}

impl Cluster {
    async fn create(&self, epoch: u64) -> (Box<dyn LedgerWriter>, Rc<Recorder>) {
        let sink = Rc::new(Recorder::default());
        let options = CreateOptions { journal_key: 0, class: Class::Messages };
        (self.shard.create(Epoch(epoch), options, Rc::clone(&sink) as _).await.unwrap(), sink)
    }

    async fn read_all(&self, ledger: LedgerId, last: u64) -> Vec<Bytes> {
        read_all(&self.shard, ledger, last).await
    }

    async fn ensemble(&self, ledger: LedgerId) -> Vec<Rc<Control>> {
        let found = self.store.directory().get(ledger).await.unwrap().unwrap();
        let ensemble = found.metadata.last_segment().ensemble.clone();
        let control = |id: &BookieId| self.bookies.iter().find(|(name, _)| name == id).unwrap().1.clone();
        ensemble.iter().map(control).collect()
    }

    async fn state(&self, ledger: LedgerId) -> (State, i64, usize) {
        let found = self.store.directory().get(ledger).await.unwrap().unwrap().metadata;
        (found.state, found.last, found.segments.len())
    }
}

fn run(test: impl Future<Output = ()>) {
    run_for(Duration::from_secs(30), test);
}

pub(crate) fn run_for(limit: Duration, test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(limit, test).await.unwrap();
    });
}

pub(crate) async fn read_all(shard: &Rc<dyn LedgerStore>, ledger: LedgerId, last: u64) -> Vec<Bytes> {
    let mut found = Vec::new();
    while found.len() as u64 <= last {
        let next = match shard.read(ledger, found.len() as u64, last, 1 << 20).await {
            Ok(next) => next,
            // A bookie that just came back is left alone for a while.
            Err(error) if error.is_retryable() => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(next[0].id, found.len() as u64);
        found.extend(next.into_iter().map(|entry| entry.bytes));
    }
    found
}

pub(crate) fn append(writer: &mut dyn LedgerWriter, range: std::ops::Range<u64>) {
    for entry in range {
        assert_eq!(writer.append(Body::from(&entry.to_be_bytes()[..])).unwrap(), entry);
    }
}

pub(crate) fn expected(count: u64) -> Vec<Bytes> {
    (0..count).map(|entry| Bytes::copy_from_slice(&entry.to_be_bytes())).collect()
}

/// C1: one at a time and pipelined, closed, opened, read.
#[test]
fn c1_a_thousand_entries() {
    run(async {
        let cluster = cluster(5, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        for entry in 0..20 {
            append(&mut *writer, entry..entry + 1);
            sink.advanced_to(entry).await;
        }
        append(&mut *writer, 20..1_000);
        let ledger = writer.ledger();
        let closed = writer.close().await.unwrap();
        assert_eq!(closed, Closed { last: Some(999), length: 8_000 });
        assert_eq!(cluster.state(ledger).await, (State::Closed, 999, 1));
        assert_eq!(cluster.read_all(ledger, 999).await, expected(1_000));
        assert_eq!(cluster.shard.recover(ledger, Epoch(2)).await.unwrap(), closed);
        let connections: u32 = cluster.bookies.iter().map(|(_, control)| control.connections.get()).sum();
        assert!(connections <= 5, "{connections} connections");
        // Ledgers of other applications are not this store's to list, for what is listed may be swept.
        let foreign = open_metadata((3, 3, 2));
        let (foreign, _) = cluster.store.directory().create(foreign).await.unwrap();
        assert_eq!(cluster.shard.list().await.unwrap(), [ledger]);
        assert!(cluster.store.directory().list().await.unwrap().contains(&foreign));
        let missing = cluster.shard.read(ledger, 1_000, 1_001, 1).await.unwrap_err();
        assert!(matches!(missing, ReadError::NoEntry { entry: 1_000, .. }), "{missing}");
        cluster.shard.delete(ledger).await.unwrap();
        cluster.shard.delete(ledger).await.unwrap();
        assert!(matches!(cluster.shard.recover(ledger, Epoch(3)).await, Err(Error::NoLedger(_))));
    });
}

/// C4: nothing, as much as fits, and too much.
#[test]
fn c4_sizes() {
    run(async {
        let cluster = cluster(3, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        writer.append(Body::from(&[][..])).unwrap();
        let longest = vec![7; 5_242_816 - 128];
        writer.append(Body::from(&longest[..])).unwrap();
        sink.advanced_to(1).await;
        let before = cluster.store.directory().get(ledger).await.unwrap().unwrap().version;
        let too_long = writer.append(Body::from(&vec![7; longest.len() + 1][..])).unwrap_err();
        assert!(matches!(&too_long, AppendError::Unavailable(why) if why.contains("too long")), "{too_long}");
        assert_eq!(cluster.store.directory().get(ledger).await.unwrap().unwrap().version, before);
        // It is recovered and read as any other.
        drop(writer);
        let closed = cluster.shard.recover(ledger, Epoch(2)).await.unwrap();
        assert_eq!(closed, Closed { last: Some(1), length: longest.len() as u64 });
        assert_eq!(cluster.read_all(ledger, 1).await, [Bytes::new(), Bytes::from(longest)]);
    });
}

/// C8: a bookie dies while entries are appended.
#[test]
fn c8_a_bookie_that_dies_is_replaced() {
    run(async {
        let cluster = cluster(5, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..100);
        sink.advanced_to(50).await;
        cluster.ensemble(ledger).await[1].kill();
        append(&mut *writer, 100..200);
        sink.advanced_to(199).await;
        append(&mut *writer, 200..201);
        assert_eq!(writer.close().await.unwrap().last, Some(200));
        assert!(sink.error.borrow().is_none());
        assert_eq!(cluster.read_all(ledger, 200).await, expected(201));
        assert_eq!(cluster.store.metrics().ensemble_changes.load(Ordering::Relaxed), 1);
    });
}

/// C9, D8: a bookie that is silent stalls nothing if an ack quorum is left, else one time-out, and is replaced.
#[test]
fn c9_a_silent_bookie_is_replaced() {
    for ack in [2, 3] {
        run(async {
            let cluster = cluster_with(5, (3, 3, ack), Duration::from_millis(200)).await;
            let (mut writer, sink) = cluster.create(1).await;
            let ledger = writer.ledger();
            append(&mut *writer, 0..10);
            sink.advanced_to(9).await;
            let silent = cluster.ensemble(ledger).await[0].clone();
            silent.silent.set(true);
            append(&mut *writer, 10..20);
            sink.advanced_to(19).await;
            // With two acknowledgements enough, the time-out is noted and dealt with by a later append.
            let mut next = 20;
            while cluster.state(ledger).await.2 == 1 {
                append(&mut *writer, next..next + 1);
                sink.advanced_to(next).await;
                next += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            silent.silent.set(false);
            append(&mut *writer, next..next + 1);
            assert_eq!(writer.close().await.unwrap().last, Some(next));
            assert_eq!(cluster.read_all(ledger, next).await, expected(next + 1));
        });
    }
}

/// C11: nobody is left to take the place.
#[test]
fn c11_without_a_spare_the_ledger_fails_and_keeps_what_was_acknowledged() {
    run(async {
        let cluster = cluster(3, (3, 3, 3)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..5);
        sink.advanced_to(4).await;
        cluster.bookies[2].1.kill();
        append(&mut *writer, 5..8);
        let error = sink.error().await;
        assert!(
            matches!(&error, AppendError::Indeterminate { cause, .. } if cause.contains("not enough bookies")),
            "{error}"
        );
        assert!(writer.append(Body::from(&b"x"[..])).is_err());
        assert_eq!(cluster.read_all(ledger, 4).await, expected(5));
    });
}

/// C19: somebody else recovers the ledger of a writer that is idle.
#[test]
fn c19_a_writer_is_fenced_by_recovery() {
    run(async {
        let cluster = cluster(3, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(4).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..5);
        sink.advanced_to(4).await;
        let other = cluster.store.shard();
        // Whoever does not know the end asks for everything, of an open ledger too.
        assert_eq!(other.read(ledger, 0, u64::MAX, usize::MAX).await.unwrap().len(), 5);
        let stale = other.recover(ledger, Epoch(3)).await.unwrap_err();
        assert!(matches!(stale, Error::Fenced { by: Epoch(4), .. }), "{stale}");
        let closed = other.recover(ledger, Epoch(5)).await.unwrap();
        assert_eq!(closed.last, Some(4));
        append(&mut *writer, 5..6);
        let error = sink.error().await;
        assert!(matches!(error, AppendError::Fenced { by: Epoch(5), .. }), "{error}");
        assert_eq!(other.read(ledger, 0, u64::MAX, usize::MAX).await.unwrap().len(), 5);
        assert!(matches!(writer.append(Body::from(&b"x"[..])), Err(AppendError::Fenced { .. })));
        assert_eq!(*sink.last.borrow(), Some(4));
    });
}

/// C41, U4: the fence of a ledger without entries is forgotten by every bookie; the writer is not acknowledged.
#[test]
fn c41_a_zombie_is_not_acknowledged_though_its_bookies_forgot_the_fence() {
    run(async {
        let cluster = cluster(3, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        assert_eq!(cluster.store.shard().recover(ledger, Epoch(2)).await.unwrap().last, None);
        for (_, bookie) in &cluster.bookies {
            bookie.ledgers.borrow_mut().clear();
        }
        append(&mut *writer, 0..3);
        assert!(matches!(sink.error().await, AppendError::Fenced { by: Epoch(2), .. }));
        assert_eq!(*sink.last.borrow(), None);
    });
}

/// C22, D3: many entries beyond what was known to be acknowledged.
#[test]
fn c22_a_long_tail_is_recovered() {
    run(async {
        let cluster = cluster(5, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..3_000);
        sink.advanced_to(1_000).await;
        let acknowledged = sink.last.borrow().unwrap();
        drop(writer);
        let closed = cluster.store.shard().recover(ledger, Epoch(2)).await.unwrap();
        let last = closed.last.unwrap();
        assert!(last >= acknowledged && closed.length == (last + 1) * 8);
        assert_eq!(cluster.read_all(ledger, last).await, expected(last + 1));
    });
}

/// C32: eight recoverers at once.
#[test]
fn c32_eight_recoverers_report_one_end() {
    run(async {
        let cluster = cluster(5, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..500);
        sink.advanced_to(200).await;
        let shards: Vec<_> = (0..8).map(|_| cluster.store.shard()).collect();
        let ends = futures::future::join_all(shards.iter().map(|shard| shard.recover(ledger, Epoch(2)))).await;
        let ends: Vec<Closed> = ends.into_iter().map(Result::unwrap).collect();
        assert!(ends.iter().all(|end| *end == ends[0]) && ends[0].last >= *sink.last.borrow());
    });
}

/// C35: a read-only bookie takes no appends, but what is written back.
#[test]
fn c35_read_only_bookies() {
    run(async {
        let cluster = cluster(3, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..5);
        sink.advanced_to(4).await;
        drop(writer);
        cluster.bookies.iter().for_each(|(_, bookie)| bookie.read_only.set(true));
        assert_eq!(cluster.shard.recover(ledger, Epoch(2)).await.unwrap().last, Some(4));
    });
}

/// C37: a damaged replica is passed over and counted; damage everywhere is told as such.
#[test]
fn c37_damage() {
    run(async {
        let cluster = cluster(3, (3, 3, 2)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..3);
        sink.advanced_to(2).await;
        writer.close().await.unwrap();
        for (_, bookie) in &cluster.bookies {
            bookie.damages.set(true);
            for entry in 0..3 {
                let read = cluster.shard.read(ledger, entry, entry, 100).await.unwrap();
                assert_eq!(read[0].bytes, &entry.to_be_bytes()[..]);
            }
            bookie.damages.set(false);
        }
        assert!(cluster.store.metrics().digest_mismatches.load(Ordering::Relaxed) >= 3);
        cluster.bookies.iter().for_each(|(_, bookie)| bookie.damages.set(true));
        let error = cluster.shard.read(ledger, 1, 1, 100).await.unwrap_err();
        assert!(matches!(&error, ReadError::Corrupt { entry: 1, place, .. } if place.contains("digest")), "{error}");
    });
}

/// C49, D11: bookies that do not know batch reads hang up; entries are then asked for one by one.
#[test]
fn c49_old_bookies_are_read_one_entry_at_a_time() {
    run(async {
        let cluster = cluster(3, (3, 3, 2)).await;
        let (mut writer, _) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..40);
        writer.close().await.unwrap();
        cluster.bookies.iter().for_each(|(_, bookie)| bookie.is_old.set(true));
        assert_eq!(cluster.read_all(ledger, 39).await, expected(40));
    });
}

/// C2: a wrong password is refused before any bookie is asked.
#[test]
fn c2_a_wrong_password_is_refused_by_the_metadata() {
    run(async {
        let cluster = cluster(1, (1, 1, 1)).await;
        let (mut writer, sink) = cluster.create(1).await;
        let ledger = writer.ledger();
        append(&mut *writer, 0..1);
        sink.advanced_to(0).await;
        let mut config = Config::new(Quorum::ONE);
        config.password = Bytes::from("other");
        let other =
            BookKeeperStore::open(config, Arc::clone(&cluster.metadata) as _, SystemClock::shared()).await.unwrap();
        let requests = cluster.bookies[0].1.requests.get();
        let error = other.shard().recover(ledger, Epoch(2)).await.unwrap_err();
        assert!(error.to_string().contains("password"), "{error}");
        assert_eq!(cluster.bookies[0].1.requests.get(), requests);
        assert_eq!(cluster.state(ledger).await.0, State::Open);
    });
}
