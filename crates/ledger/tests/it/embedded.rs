//! The embedded store on a directory of the operating system.

use std::sync::Arc;
use std::time::Duration;

use plerion_clock::SystemClock;
use plerion_ledger::disk::Directory;
use plerion_ledger::embedded::{Config, EmbeddedStore, OpenError};
use plerion_ledger::{Body, Closed, Epoch, LedgerId};

use crate::contract::{check, write};
use crate::support::{on_shard, soon};

pub(crate) fn config() -> Config {
    Config {
        segment_bytes: 64 << 10,
        first_segment_bytes: 16 << 10,
        cache_bytes: 64 << 10,
        prepare_rate: 0,
        reserve_bytes: 16 << 10,
        batch_bytes: 16 << 10,
        rewrite_rate: 0,
        upkeep_interval: Duration::from_millis(5),
        ..Config::default()
    }
}

fn open(config: Config, path: &std::path::Path) -> Result<Arc<EmbeddedStore>, OpenError> {
    EmbeddedStore::open(config, Arc::new(Directory::open(path).unwrap()), SystemClock::shared())
}

#[test]
fn keeps_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(Config { prepare_rate: 1 << 20, ..Config::default() }, directory.path()).unwrap();
    on_shard(async { check(store.shard()).await });
}

#[test]
fn keeps_the_contract_in_small_segments_without_a_cache_and_with_several_journals() {
    let directory = tempfile::tempdir().unwrap();
    let config = Config { cache_bytes: 0, journals: 3, segment_bytes: 1024, first_segment_bytes: 512, ..config() };
    let store = open(config, directory.path()).unwrap();
    on_shard(async { check(store.shard()).await });
}

#[test]
fn entries_ledgers_and_deletions_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let bodies: Vec<Vec<u8>> = (0..300u32).map(|n| n.to_be_bytes().repeat(100)).collect();
    let bodies: Vec<&[u8]> = bodies.iter().map(|body| &body[..]).collect();
    let (sealed, open_ledger, deleted) = {
        let store = open(config(), directory.path()).unwrap();
        on_shard(async {
            let shard = store.shard();
            let (sealed, _) = write(&shard, 1, &bodies).await;
            let (left_open, sink) = write(&shard, 2, &bodies).await;
            let (deleted, _) = write(&shard, 1, &bodies).await;
            soon(sink.advanced_to(299)).await;
            let ids = (sealed.ledger(), left_open.ledger(), deleted.ledger());
            soon(sealed.close()).await.unwrap();
            drop(deleted);
            soon(shard.delete(ids.2)).await.unwrap();
            ids
        })
    };
    for _ in 0..2 {
        let store = open(config(), directory.path()).unwrap();
        on_shard(async {
            let shard = store.shard();
            assert_eq!(soon(shard.list()).await.unwrap(), [sealed, open_ledger]);
            let closed = Closed { last: Some(299), length: 300 * 400 };
            assert_eq!(soon(shard.recover(sealed, Epoch(2))).await.unwrap(), closed);
            assert_eq!(soon(shard.recover(open_ledger, Epoch(3))).await.unwrap(), closed);
            assert!(soon(shard.recover(open_ledger, Epoch(2))).await.is_err());
            assert!(soon(shard.recover(deleted, Epoch(9))).await.is_err());
            for ledger in [sealed, open_ledger] {
                let mut next = 0;
                while next < 300 {
                    for entry in soon(shard.read(ledger, next, 299, 10_000)).await.unwrap() {
                        assert_eq!((entry.id, &entry.bytes[..]), (next, bodies[next as usize]));
                        next += 1;
                    }
                }
            }
            let (new, _) = write(&shard, 1, &[]).await;
            assert!(new.ledger() > deleted);
            let id = new.ledger();
            drop(new);
            soon(shard.delete(id)).await.unwrap();
        });
    }
}

#[test]
fn the_tail_is_served_from_memory_within_its_bound() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(Config { cache_bytes: 100_000, ..config() }, directory.path()).unwrap();
    on_shard(async {
        let shard = store.shard();
        let (mut writer, sink) = write(&shard, 1, &[]).await;
        let mut pinned = Vec::new();
        for id in 0..1000u64 {
            writer.append(Body::from(&id.to_be_bytes().repeat(125)[..])).unwrap();
            if id % 10 == 9 {
                soon(sink.advanced_to(id)).await;
            }
            if id == 9 {
                assert_eq!(shard.read_cached(writer.ledger(), 0, 9, 10_000, &mut pinned), 10);
                assert_eq!(shard.read_cached(writer.ledger(), 0, 9, 9_999, &mut Vec::new()), 9);
            }
        }
        let mut tail = Vec::new();
        assert!(shard.read_cached(writer.ledger(), 990, 999, usize::MAX, &mut tail) > 5);
        assert!(tail.iter().all(|entry| entry.bytes[..8] == entry.id.to_be_bytes()));
        assert_eq!(shard.read_cached(writer.ledger(), 0, 999, usize::MAX, &mut Vec::new()), 0, "the start is dropped");
        assert!(store.cached_bytes() < 250_000, "{} bytes are held", store.cached_bytes());
        assert!(pinned.iter().all(|entry| entry.bytes[..8] == entry.id.to_be_bytes()));
        drop((pinned, tail));
    });
}

#[test]
fn a_directory_is_used_by_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(config(), directory.path()).unwrap();
    assert!(matches!(open(config(), directory.path()), Err(OpenError::InUse)));
    drop(first);
    open(config(), directory.path()).unwrap();
}

#[test]
fn a_newer_format_and_a_foreign_directory_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("FORMAT"), "plerion ledger 999\n").unwrap();
    let refused = open(config(), directory.path()).err().unwrap();
    assert!(matches!(refused, OpenError::NewerFormat { found: 999, .. }), "{refused}");
    std::fs::write(directory.path().join("FORMAT"), "ext4").unwrap();
    assert!(matches!(open(config(), directory.path()), Err(OpenError::Foreign)));
}

#[test]
fn an_empty_directory_is_opened_in_no_time() {
    let directory = tempfile::tempdir().unwrap();
    let clock = SystemClock::shared();
    let started = clock.monotonic();
    let _store = open(Config::default(), directory.path()).unwrap();
    let took = clock.monotonic() - started;
    assert!(took < Duration::from_millis(500), "opening took {took:?}");
}

#[test]
fn shards_on_two_threads_share_ledgers_and_fence_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(config(), directory.path()).unwrap();
    let (told, ledgers) = std::sync::mpsc::channel::<LedgerId>();
    let writing = {
        let store = Arc::clone(&store);
        std::thread::spawn(move || {
            on_shard(async {
                let shard = store.shard();
                let (mut writer, sink) = write(&shard, 1, &[]).await;
                told.send(writer.ledger()).unwrap();
                let mut appended = 0u64;
                while writer.append(Body::from(&appended.to_be_bytes()[..])).is_ok() {
                    appended += 1;
                    tokio::task::yield_now().await;
                }
                soon(sink.failed()).await;
                sink.told().last
            })
        })
    };
    let ledger = ledgers.recv().unwrap();
    on_shard(async {
        let shard = store.shard();
        let closed = soon(shard.recover(ledger, Epoch(2))).await.unwrap();
        let acknowledged = writing.join().unwrap();
        assert_eq!(closed.last, acknowledged, "everything before the fence was acknowledged, nothing after it");
        if let Some(last) = closed.last {
            let read = soon(shard.read(ledger, last, last, 100)).await.unwrap();
            assert_eq!(read[0].bytes[..], last.to_be_bytes());
            assert!(soon(shard.read(ledger, last + 1, last + 1, 100)).await.is_err());
        }
    });
}
