//! Disks that run full, fail to sync, or fail altogether.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use plerion_clock::SystemClock;
use plerion_ledger::embedded::{Config, EmbeddedStore};
use plerion_ledger::{AppendError, Body, Class, CreateOptions, Epoch, Error, LedgerId, ReadError};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::contract::{Store, write};
use crate::embedded::config;
use crate::sim_disk::{Faults, Machine};
use crate::support::{Recorder, on_shard, soon};

fn open(config: Config, machine: &Machine) -> Arc<EmbeddedStore> {
    EmbeddedStore::open(config, machine.disk(), SystemClock::shared()).unwrap()
}

/// Writes a ledger of 20 entries; how many were acknowledged, and what went wrong.
async fn fill(store: &Store) -> Result<(LedgerId, u64, Option<AppendError>), Error> {
    let sink = Recorder::new();
    let mut writer =
        store.create(Epoch(1), CreateOptions { journal_key: 0, class: Class::Messages }, Rc::clone(&sink) as _).await?;
    let id = writer.ledger();
    for entry in 0..20u64 {
        if let Err(error) = writer.append(Body::from(&entry.to_be_bytes().repeat(100)[..])) {
            return Ok((id, sink.told().last.map_or(0, |last| last + 1), Some(error)));
        }
        tokio::task::yield_now().await;
    }
    loop {
        match sink.told() {
            told if told.error.is_some() => return Ok((id, told.last.map_or(0, |last| last + 1), told.error)),
            told if told.last == Some(19) => return Ok((id, 20, None)),
            _ => tokio::task::yield_now().await,
        }
    }
}

async fn check(store: &Store, ledger: LedgerId, count: u64) {
    let mut next = 0;
    while next < count {
        for entry in soon(store.read(ledger, next, count - 1, 3000)).await.unwrap() {
            assert_eq!((entry.id, &entry.bytes[..8]), (next, &next.to_be_bytes()[..]));
            next += 1;
        }
    }
}

#[test]
fn a_full_disk_refuses_appends_serves_reads_and_goes_on_when_space_is_back() {
    let machine = Machine::default();
    let store = open(config(), &machine);
    machine.set_faults(Faults { capacity: Some(400_000), ..Faults::default() });
    let ledgers = on_shard(async {
        let shard = store.shard();
        let mut ledgers = Vec::new();
        let refusal = loop {
            match soon(fill(&shard)).await {
                Ok((id, count, error)) => {
                    ledgers.push((id, count));
                    if let Some(error) = error {
                        break Error::Append(error);
                    }
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(refusal, Error::Append(AppendError::Unavailable(_)) | Error::Unavailable(_)), "{refusal}");
        assert!(refusal.is_retryable());
        assert!(ledgers.len() > 5);
        for &(ledger, count) in &ledgers {
            check(&shard, ledger, count).await;
        }
        // The writer's successor can seal what there is, and what is not needed can go.
        let last = ledgers[ledgers.len() - 1];
        let closed = soon(shard.recover(last.0, Epoch(2))).await.unwrap();
        assert!(closed.last.map_or(0, |last| last + 1) >= last.1);
        for (ledger, _) in ledgers.drain(..ledgers.len() * 2 / 3) {
            soon(shard.delete(ledger)).await.unwrap();
        }
        let (id, count) = loop {
            if let Ok((id, count, None)) = soon(fill(&shard)).await {
                break (id, count);
            }
        };
        assert_eq!(store.metrics().refusing.get(), 0);
        ledgers.push((id, count));
        for &(ledger, count) in &ledgers {
            check(&shard, ledger, count).await;
        }
        ledgers
    });
    drop(store);
    machine.set_faults(Faults::default());
    machine.reboot(&mut SmallRng::seed_from_u64(1));
    let store = open(config(), &machine);
    on_shard(async {
        let shard = store.shard();
        let ids: Vec<LedgerId> = ledgers.iter().map(|&(id, _)| id).collect();
        let listed = soon(shard.list()).await.unwrap();
        assert!(ids.iter().all(|id| listed.contains(id)));
        for (ledger, count) in ledgers {
            check(&shard, ledger, count).await;
        }
    });
}

#[test]
fn a_read_only_disk_refuses_appends_until_it_is_writable_again() {
    let machine = Machine::default();
    let store = open(config(), &machine);
    on_shard(async {
        let shard = store.shard();
        let (ledger, count, _) = soon(fill(&shard)).await.unwrap();
        let (mut writer, sink) = write(&shard, 1, &[b"before"]).await;
        soon(sink.advanced_to(0)).await;
        let read_only = Some((io::ErrorKind::ReadOnlyFilesystem, u32::MAX));
        machine.set_faults(Faults { failing_writes: read_only, ..Faults::default() });
        writer.append(Body::from(&b"refused"[..])).unwrap();
        let error = soon(sink.failed()).await;
        assert!(matches!(error, AppendError::Unavailable(_)), "{error}");
        check(&shard, ledger, count).await;
        assert!(matches!(soon(fill(&shard)).await, Err(Error::Unavailable(_))));
        machine.set_faults(Faults::default());
        while soon(fill(&shard)).await.is_err() {}
        let closed = soon(shard.recover(writer.ledger(), Epoch(1))).await.unwrap();
        assert_eq!(closed.last, Some(0), "nothing of what was refused is there");
    });
}

fn a_failed_batch_leaves_the_outcome_open(faults: &Faults) {
    let machine = Machine::default();
    let store = open(config(), &machine);
    let (ledgers, acknowledged) = on_shard(async {
        let shard = store.shard();
        let (mut busy, busy_sink) = write(&shard, 1, &[b"a", b"b"]).await;
        let (idle, idle_sink) = write(&shard, 1, &[b"c"]).await;
        soon(busy_sink.advanced_to(1)).await;
        soon(idle_sink.advanced_to(0)).await;
        machine.set_faults(faults.clone());
        busy.append(Body::from(&b"lost"[..])).unwrap();
        for sink in [&busy_sink, &idle_sink] {
            let error = soon(sink.failed()).await;
            assert!(matches!(error, AppendError::Indeterminate { .. }), "{error}");
        }
        machine.set_faults(Faults::default());
        assert!(busy.append(Body::from(&b"too late"[..])).is_err(), "the writer is of no more use");
        assert!(matches!(soon(idle.close()).await, Err(Error::Append(AppendError::Indeterminate { .. }))));
        let (_, count, error) = soon(fill(&shard)).await.unwrap();
        assert_eq!((count, error.is_none()), (20, true), "new ledgers are written at once");
        let ledger = busy.ledger();
        assert_eq!(soon(shard.recover(ledger, Epoch(2))).await.unwrap().last, Some(1));
        ([ledger, LedgerId(ledger.0 + 1)], [1, 0])
    });
    drop(store);
    machine.reboot(&mut SmallRng::seed_from_u64(2));
    let store = open(config(), &machine);
    on_shard(async {
        let shard = store.shard();
        for (ledger, last) in ledgers.into_iter().zip(acknowledged) {
            assert_eq!(soon(shard.recover(ledger, Epoch(3))).await.unwrap().last, Some(last));
            assert_eq!(soon(shard.read(ledger, 0, last, 99)).await.unwrap().len() as u64, last + 1);
        }
    });
}

#[test]
fn a_failed_sync_fails_every_ledger_of_the_journal_and_is_not_retried() {
    a_failed_batch_leaves_the_outcome_open(&Faults { failing_syncs: 1, ..Faults::default() });
}

#[test]
fn a_failed_write_fails_every_ledger_of_the_journal() {
    a_failed_batch_leaves_the_outcome_open(&Faults {
        failing_writes: Some((io::ErrorKind::Other, u32::MAX)),
        ..Faults::default()
    });
}

#[test]
fn what_a_failed_writer_had_on_its_way_is_never_taken_for_its_entries() {
    let machine = Machine::default();
    let store = open(config(), &machine);
    let (failed, other) = on_shard(async {
        let shard = store.shard();
        let (mut failed, sink) = write(&shard, 1, &[b"zero"]).await;
        let (mut other, other_sink) = write(&shard, 1, &[b"zero"]).await;
        soon(sink.advanced_to(0)).await;
        soon(other_sink.advanced_to(0)).await;
        // A block this long leaves at once, the next at the end of the round: before anyone hears of the first.
        let long = vec![7; 300 << 10];
        machine.set_faults(Faults { failing_writes: Some((io::ErrorKind::StorageFull, 1)), ..Faults::default() });
        failed.append(Body::from(&long[..])).unwrap();
        failed.append(Body::from(&b"two"[..])).unwrap();
        other.append(Body::from(&b"one"[..])).unwrap();
        assert!(matches!(soon(sink.failed()).await, AppendError::Unavailable(_)));
        soon(other_sink.advanced_to(1)).await;
        machine.die_after(0);
        (failed.ledger(), other.ledger())
    });
    drop(store);
    machine.reboot(&mut SmallRng::seed_from_u64(3));
    let store = open(config(), &machine);
    on_shard(async {
        let shard = store.shard();
        assert_eq!(soon(shard.recover(failed, Epoch(2))).await.unwrap().last, Some(0));
        assert_eq!(soon(shard.recover(other, Epoch(2))).await.unwrap().last, Some(1));
    });
}

#[test]
fn a_failed_read_is_an_error_worth_a_retry() {
    let machine = Machine::default();
    let store = open(config(), &machine);
    on_shard(async {
        let shard = store.shard();
        let (ledger, count, _) = soon(fill(&shard)).await.unwrap();
        machine.set_faults(Faults { failing_reads: Some(io::ErrorKind::Other), ..Faults::default() });
        let error = soon(shard.read(ledger, 0, 19, 99)).await.unwrap_err();
        assert!(matches!(error, ReadError::Io { .. }) && error.is_retryable(), "{error}");
        machine.set_faults(Faults::default());
        check(&shard, ledger, count).await;
    });
}

#[test]
fn a_store_opens_on_a_disk_that_takes_no_writes() {
    let machine = Machine::default();
    let ledger = {
        let store = open(config(), &machine);
        on_shard(async { soon(fill(&store.shard())).await.unwrap().0 })
    };
    machine.set_faults(Faults {
        failing_writes: Some((io::ErrorKind::ReadOnlyFilesystem, u32::MAX)),
        ..Faults::default()
    });
    let store = open(config(), &machine);
    on_shard(async {
        let shard = store.shard();
        check(&shard, ledger, 20).await;
        assert!(matches!(soon(fill(&shard)).await, Err(Error::Unavailable(_))));
    });
}

#[test]
fn state_goes_on_in_reserved_space_when_messages_are_refused() {
    let machine = Machine::default();
    let store = open(config(), &machine);
    let state = CreateOptions { journal_key: 0, class: Class::State };
    let (early, late) = on_shard(async {
        let shard = store.shard();
        let sink = Recorder::new();
        let mut early = soon(shard.create(Epoch(1), state, Rc::clone(&sink) as _)).await.unwrap();
        early.append(Body::from(&b"before"[..])).unwrap();
        soon(sink.advanced_to(0)).await;
        machine.set_faults(Faults { capacity: Some(machine.used()), ..Faults::default() });
        while fill(&shard).await.is_ok_and(|(.., error)| error.is_none()) {}

        let refused = shard.create(Epoch(1), CreateOptions { journal_key: 0, class: Class::Messages }, Recorder::new());
        assert!(matches!(soon(refused).await, Err(Error::Unavailable(_))));
        early.append(Body::from(&b"meanwhile"[..])).unwrap();
        soon(sink.advanced_to(1)).await;
        let sink = Recorder::new();
        let mut late = soon(shard.create(Epoch(1), state, Rc::clone(&sink) as _)).await.unwrap();
        late.append(Body::from(&b"late"[..])).unwrap();
        soon(sink.advanced_to(0)).await;
        (early.ledger(), late.ledger())
    });
    drop(store);
    machine.reboot(&mut SmallRng::seed_from_u64(0));
    machine.set_faults(Faults::default());
    let store = open(config(), &machine);
    on_shard(async {
        let shard = store.shard();
        for (ledger, bodies) in [(early, &[&b"before"[..], b"meanwhile"][..]), (late, &[b"late"])] {
            let closed = soon(shard.recover(ledger, Epoch(2))).await.unwrap();
            assert_eq!(closed.last, Some(bodies.len() as u64 - 1));
            let read = soon(shard.read(ledger, 0, bodies.len() as u64 - 1, 1000)).await.unwrap();
            assert!(read.iter().map(|entry| &entry.bytes[..]).eq(bodies.iter().copied()));
        }
    });
}
