//! Prints how long a metadata store takes: `latency URL`, on an otherwise idle machine and built for release.

#![allow(clippy::print_stdout, reason = "it prints figures")]

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use plerion_metadata::{Expect, MetadataStore, PutOptions, StoreOptions, StoreUrl, delete_tree, open};
use tokio::time::Instant;

const ROUNDS: usize = 1_000;
const AT_ONCE: usize = 64;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url: StoreUrl = std::env::args().nth(1).ok_or("latency URL")?.parse()?;
    let (store, other) = (open(&url, &StoreOptions::default()).await?, open(&url, &StoreOptions::default()).await);
    let value = Bytes::from(vec![7; 256]);
    let persistent = PutOptions::PERSISTENT;
    delete_tree(&*store, "/latency").await?;

    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let began = Instant::now();
        store.put(&format!("/latency/{round}"), value.clone(), Expect::Absent, persistent).await?;
        times.push(began.elapsed());
    }
    print("create", times);
    let mut version = store.put("/latency/cas", value.clone(), Expect::Any, persistent).await?.stat.version;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        version = store.put("/latency/cas", value.clone(), Expect::Version(version), persistent).await?.stat.version;
        times.push(began.elapsed());
    }
    print("compare-and-set", times);
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let began = Instant::now();
        store.get(&format!("/latency/{round}")).await?;
        times.push(began.elapsed());
    }
    print("read", times);
    let began = Instant::now();
    let listed = store.children("/latency").await?.len();
    println!("{:<16} {:>8} names in {} us", "list", listed, began.elapsed().as_micros());
    many(&*store, &value).await?;

    // An embedded store is not opened twice.
    if let Ok(other) = other {
        let mut watch = other.watch("/latency/cas").await?;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let began = Instant::now();
            store.put("/latency/cas", value.clone(), Expect::Any, persistent).await?;
            // Stores in memory are each their own.
            if tokio::time::timeout(Duration::from_secs(1), watch.next()).await.is_err() {
                break;
            }
            times.push(began.elapsed());
        }
        print("write to watcher", times);
    }
    delete_tree(&*store, "/latency").await?;
    Ok(())
}

async fn many(store: &dyn MetadataStore, value: &Bytes) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let writers = join_all((0..AT_ONCE).map(async |writer| {
        for _ in 0..ROUNDS / 10 {
            store.put(&format!("/latency/many/{writer}"), value.clone(), Expect::Any, PutOptions::PERSISTENT).await?;
        }
        Ok::<_, plerion_metadata::Error>(())
    }));
    writers.await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let per_second = (AT_ONCE * ROUNDS / 10) as f64 / began.elapsed().as_secs_f64();
    println!("{:<16} {per_second:>8.0} a second, {AT_ONCE} at a time", "write");
    Ok(())
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).map_or(0, Duration::as_micros);
    println!("{what:<16} {:>8} us p50 {:>8} us p99, {} calls", at(50), at(99), times.len());
}
