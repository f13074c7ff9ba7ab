//! Space comes back.

use std::rc::Rc;
use std::time::Duration;

use plerion_clock::SystemClock;
use plerion_ledger::embedded::{Config, EmbeddedStore};
use plerion_ledger::{Body, Epoch, LedgerId};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::contract::{Store, write};
use crate::embedded::config;
use crate::sim_disk::Machine;
use crate::support::{on_shard, soon};

/// Writes `count` ledgers of 30 entries of 500 bytes, all at the same time, and closes them.
async fn interleave(store: &Store, count: usize) -> Vec<LedgerId> {
    let mut writers = Vec::new();
    for _ in 0..count {
        writers.push(write(store, 1, &[]).await);
    }
    for entry in 0..30u64 {
        for (writer, _) in &mut writers {
            let tag = writer.ledger().0 << 32 | entry;
            writer.append(Body::from(&tag.to_be_bytes().repeat(63)[..])).unwrap();
        }
        tokio::task::yield_now().await;
    }
    let mut ids = Vec::new();
    for (writer, sink) in writers {
        ids.push(writer.ledger());
        soon(writer.close()).await.unwrap();
        assert_eq!(sink.told().last, Some(29));
    }
    ids
}

async fn check(store: &Store, ledger: LedgerId) {
    let mut next = 0;
    while next < 30 {
        for entry in soon(store.read(ledger, next, 29, 1 << 20)).await.unwrap() {
            assert_eq!(entry.bytes[..8], (ledger.0 << 32 | next).to_be_bytes());
            next += 1;
        }
    }
}

async fn until(condition: impl Fn() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[test]
fn deleting_everything_gives_everything_back() {
    let machine = Machine::default();
    let store = EmbeddedStore::open(config(), machine.disk(), SystemClock::shared()).unwrap();
    on_shard(async {
        let shard = store.shard();
        let ids = interleave(&shard, 50).await;
        assert!(machine.used() > 700_000);
        for id in ids {
            soon(shard.delete(id)).await.unwrap();
        }
        until(|| machine.used() < 250_000).await;
        assert!(soon(shard.list()).await.unwrap().is_empty());
        assert!(store.metrics().segments_reclaimed.get() > 5);
    });
}

#[test]
fn what_is_left_of_segments_is_put_together_and_survives() {
    let machine = Machine::default();
    let rewriting = || Config { rewrite_after: Duration::ZERO, rewrite_rate: 1 << 30, ..config() };
    let store = EmbeddedStore::open(rewriting(), machine.disk(), SystemClock::shared()).unwrap();
    let (kept, gone) = on_shard(async {
        let shard = store.shard();
        let mut ids = interleave(&shard, 50).await;
        let gone = ids.split_off(5);
        for &id in &gone {
            soon(shard.delete(id)).await.unwrap();
        }
        until(|| machine.used() < 400_000).await;
        assert!(store.metrics().rewritten_bytes.get() > 0);
        for &id in &ids {
            check(&shard, id).await;
        }
        (ids, gone)
    });
    for seed in 0..3 {
        let store = EmbeddedStore::open(rewriting(), machine.disk(), SystemClock::shared());
        drop(store);
        machine.reboot(&mut SmallRng::seed_from_u64(seed));
    }
    drop(store);
    let store = EmbeddedStore::open(rewriting(), machine.disk(), SystemClock::shared()).unwrap();
    on_shard(async {
        let shard = store.shard();
        let listed = soon(shard.list()).await.unwrap();
        assert_eq!(listed, kept);
        assert!(!gone.iter().any(|id| listed.contains(id)));
        for &id in &kept {
            check(&shard, id).await;
        }
    });
}

#[test]
fn a_rewritten_segment_holds_a_ledger_in_one_piece() {
    let machine = Machine::default();
    let slow = Config { segment_bytes: 1 << 20, first_segment_bytes: 1 << 20, ..config() };
    {
        let store = EmbeddedStore::open(slow.clone(), machine.disk(), SystemClock::shared()).unwrap();
        on_shard(async { interleave(&store.shard(), 50).await });
    }
    let rewriting = Config { rewrite_after: Duration::ZERO, rewrite_rate: 1 << 30, ..slow };
    let store = EmbeddedStore::open(rewriting, machine.disk(), SystemClock::shared()).unwrap();
    on_shard(async {
        let shard: Rc<_> = store.shard();
        until(|| store.metrics().rewritten_bytes.get() > 0 && store.metrics().segments.get() == 1).await;
        let ledger = soon(shard.list()).await.unwrap()[7];
        let before = store.metrics().cold_bytes.get();
        assert_eq!(soon(shard.read(ledger, 0, 29, 1 << 20)).await.unwrap().len(), 30);
        let read = store.metrics().cold_bytes.get() - before;
        assert!(read < 30 * (504 + 32) + 1, "{read} bytes were read for one ledger");
        assert_eq!(soon(shard.recover(ledger, Epoch(2))).await.unwrap().last, Some(29));
    });
}

#[test]
fn dead_segments_are_written_again() {
    let machine = Machine::default();
    let store = EmbeddedStore::open(config(), machine.disk(), SystemClock::shared()).unwrap();
    on_shard(async {
        let shard = store.shard();
        for round in 0..30 {
            for id in interleave(&shard, 10).await {
                check(&shard, id).await;
                soon(shard.delete(id)).await.unwrap();
            }
            if round >= 2 {
                until(|| machine.used() < 600_000).await;
            }
        }
        let unprepared = store.metrics().unprepared_segments.get();
        assert!(unprepared < 60, "{unprepared} segments were made anew");
    });
}
