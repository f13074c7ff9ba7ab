//! How fast the embedded store appends and reads back: `journal [directory] [seconds]`.
//!
//! Prints, for 1 KiB entries, the rate and the latency from `append` to the acknowledgement with 1 and with 1024
//! entries outstanding over 1, 64 and 1024 ledgers, and then the rate of a drain from disk.
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plerion_clock::{SharedClock, SystemClock};
use plerion_ledger::disk::{Directory, Disk};
use plerion_ledger::embedded::{Config, EmbeddedStore};
use plerion_ledger::{
    AppendError, AppendSink, Body, Class, CreateOptions, Epoch, LedgerId, LedgerStore, LedgerWriter, Verified,
};
use tokio::sync::Notify;

const ENTRY: usize = 1024;

struct Load {
    clock: SharedClock,
    outstanding: Cell<usize>,
    done: Cell<u64>,
    latencies: RefCell<Vec<u32>>,
    progress: Notify,
}

/// When the entries of one ledger were appended that are not acknowledged yet.
struct Sink {
    load: Rc<Load>,
    sent: RefCell<VecDeque<Duration>>,
    next: Cell<u64>,
}

impl AppendSink for Sink {
    fn advanced(&self, last: u64) {
        let now = self.load.clock.monotonic();
        let count = last + 1 - self.next.replace(last + 1);
        let mut latencies = self.load.latencies.borrow_mut();
        for sent in self.sent.borrow_mut().drain(..count as usize) {
            latencies.push((now - sent).as_micros() as u32);
        }
        self.load.done.set(self.load.done.get() + count);
        self.load.outstanding.set(self.load.outstanding.get() - count as usize);
        self.load.progress.notify_one();
    }

    fn failed(&self, error: AppendError) {
        panic!("{error}");
    }
}

async fn append(
    store: &Rc<dyn LedgerStore>,
    clock: &SharedClock,
    ledgers: usize,
    outstanding: usize,
    time: Duration,
) -> LedgerId {
    let load = Rc::new(Load {
        clock: Arc::clone(clock),
        outstanding: Cell::new(0),
        done: Cell::new(0),
        latencies: RefCell::default(),
        progress: Notify::new(),
    });
    let options = CreateOptions { journal_key: 0, class: Class::Messages };
    let mut writers: Vec<(Box<dyn LedgerWriter>, Rc<Sink>)> = Vec::new();
    for _ in 0..ledgers {
        let sink = Rc::new(Sink { load: Rc::clone(&load), sent: RefCell::default(), next: Cell::new(0) });
        writers.push((store.create(Epoch(1), options, Rc::clone(&sink) as _).await.unwrap(), sink));
    }
    let body: Vec<u8> = (0..ENTRY as u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let verified = Some(Verified { skip: 10, crc32c: crc32c::crc32c(&body[10..]) });
    let started = clock.monotonic();
    let mut turn = 0;
    while clock.monotonic() - started < time {
        let now = clock.monotonic();
        while load.outstanding.get() < outstanding {
            let (writer, sink) = &mut writers[turn % ledgers];
            sink.sent.borrow_mut().push_back(now);
            writer.append(Body { bytes: &body, verified }).unwrap();
            load.outstanding.set(load.outstanding.get() + 1);
            turn += 1;
        }
        load.progress.notified().await;
    }
    while load.outstanding.get() > 0 {
        load.progress.notified().await;
    }
    let seconds = (clock.monotonic() - started).as_secs_f64();
    let mut latencies = load.latencies.take();
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    println!(
        "append: {outstanding:4} outstanding, {ledgers:4} ledgers: {:8.0} msg/s, p50 {:6} us, p99 {:6} us, max {:7} us",
        load.done.get() as f64 / seconds,
        at(0.5),
        at(0.99),
        at(1.0),
    );
    let ledger = writers[0].0.ledger();
    for (writer, _) in writers {
        writer.close().await.unwrap();
    }
    ledger
}

async fn drain(store: &Rc<dyn LedgerStore>, clock: &SharedClock, what: &str, ledger: LedgerId) {
    let last = store.recover(ledger, Epoch(2)).await.unwrap().last.unwrap();
    let started = clock.monotonic();
    let (mut next, mut bytes) = (0, 0);
    while next <= last {
        let entries = store.read(ledger, next, last, 1 << 20).await.unwrap();
        bytes += entries.iter().map(|entry| entry.bytes.len()).sum::<usize>();
        next += entries.len() as u64;
    }
    let seconds = (clock.monotonic() - started).as_secs_f64();
    println!(
        "drain: {what}: {:.0} MiB at {:.0} MiB/s",
        bytes as f64 / (1 << 20) as f64,
        bytes as f64 / (1 << 20) as f64 / seconds
    );
}

/// Takes the segments out of the page cache.
fn forget(path: &Path) {
    let directory = Directory::existing(path).unwrap();
    for name in directory.list().unwrap().iter().filter(|name| name.ends_with(".segment")) {
        let file = directory.open(name).unwrap();
        file.sync().unwrap();
        file.will_not_read(0, file.length().unwrap());
    }
}

fn on_shard<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "journal-bench".into());
    let seconds = arguments.next().map_or(4.0, |text| text.parse().unwrap());
    let time = Duration::from_secs_f64(seconds);
    let clock = SystemClock::shared();
    let open = || {
        let disk = Arc::new(Directory::open(&path).unwrap());
        let started = clock.monotonic();
        let store = EmbeddedStore::open(Config::default(), disk, Arc::clone(&clock)).unwrap();
        println!("open: {:.1} ms", (clock.monotonic() - started).as_secs_f64() * 1000.0);
        store
    };
    let (alone, mixed) = {
        let store = open();
        on_shard(async {
            let shard = store.shard();
            append(&shard, &clock, 1, 1, time).await;
            append(&shard, &clock, 64, 1, time).await;
            let alone = append(&shard, &clock, 1, 1024, time).await;
            let mixed = append(&shard, &clock, 64, 1024, time).await;
            append(&shard, &clock, 1024, 1024, time).await;
            (alone, mixed)
        })
    };
    let store = open();
    forget(Path::new(&path));
    on_shard(async {
        let shard = store.shard();
        drain(&shard, &clock, "a ledger alone, from disk", alone).await;
        drain(&shard, &clock, "the same, from the page cache", alone).await;
        forget(Path::new(&path));
        drain(&shard, &clock, "one of 64 interleaved ledgers, from disk", mixed).await;
    });
    drop(store);
    std::fs::remove_dir_all(path).unwrap();
}
