//! Appends to one ledger as fast as it is acknowledged, and prints the rate and the latencies:
//! `append METADATA_URL ENSEMBLE WRITE ACK OUTSTANDING BYTES SECONDS`, such as `append zk:127.0.0.1:2181 3 3 2 1000 1024 10`.

#![allow(clippy::print_stdout, reason = "it is there to print")]

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use plerion_bookkeeper::quorum::Quorum;
use plerion_bookkeeper::{BookKeeperStore, Config};
use plerion_clock::SystemClock;
use plerion_ledger::{AppendError, AppendSink, Body, Class, CreateOptions, Epoch};
use plerion_metadata::StoreOptions;
use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Default)]
struct Sink {
    acknowledged: Cell<u64>,
    sent: RefCell<Vec<Instant>>,
    latencies: RefCell<Vec<Duration>>,
    failed: RefCell<Option<AppendError>>,
    changed: Notify,
}

impl AppendSink for Sink {
    fn advanced(&self, last: u64) {
        let now = Instant::now();
        let sent = self.sent.borrow();
        let mut latencies = self.latencies.borrow_mut();
        for entry in self.acknowledged.get()..=last {
            latencies.extend(usize::try_from(entry).ok().and_then(|entry| sent.get(entry)).map(|sent| now - *sent));
        }
        self.acknowledged.set(last + 1);
        self.changed.notify_one();
    }

    fn failed(&self, error: AppendError) {
        *self.failed.borrow_mut() = Some(error);
        self.changed.notify_one();
    }
}

async fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [url, ensemble, write, ack, outstanding, bytes, seconds] = arguments else {
        return Err("usage: append METADATA_URL ENSEMBLE WRITE ACK OUTSTANDING BYTES SECONDS".into());
    };
    let quorum = Quorum::new(ensemble.parse()?, write.parse()?, ack.parse()?).ok_or("these quorums do not fit")?;
    let (outstanding, seconds): (u64, u64) = (outstanding.parse()?, seconds.parse()?);
    let body = vec![7; bytes.parse()?];
    let metadata = plerion_metadata::open(&url.parse()?, &StoreOptions::default()).await?;
    let store = BookKeeperStore::open(Config::new(quorum), metadata, SystemClock::shared()).await?;
    let (shard, sink) = (store.shard(), Rc::new(Sink::default()));
    let options = CreateOptions { journal_key: 0, class: Class::Messages };
    let mut writer = shard.create(Epoch(1), options, Rc::clone(&sink) as _).await?;
    let ledger = writer.ledger();
    let began = Instant::now();
    let mut next = 0;
    while began.elapsed() < Duration::from_secs(seconds) {
        while next < sink.acknowledged.get() + outstanding {
            sink.sent.borrow_mut().push(Instant::now());
            next = writer.append(Body::from(&body[..]))? + 1;
        }
        sink.changed.notified().await;
        if let Some(error) = sink.failed.borrow_mut().take() {
            return Err(error.into());
        }
    }
    let took = began.elapsed();
    let count = sink.acknowledged.get();
    writer.close().await?;
    shard.delete(ledger).await?;
    let mut latencies = sink.latencies.take();
    latencies.sort_unstable();
    let at = |share: usize| latencies.get(latencies.len() * share / 1_000).copied().unwrap_or_default();
    println!(
        "{:.0} appends/s, {} bytes, {outstanding} outstanding: p50 {:?}, p99 {:?}, p99.9 {:?}",
        count as f64 / took.as_secs_f64(),
        body.len(),
        at(500),
        at(990),
        at(999)
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, run(&arguments))
}
