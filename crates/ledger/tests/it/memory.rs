//! The memory store: the contract, and the control a test has over it.

use plerion_ledger::memory::MemoryStore;
use plerion_ledger::{AppendError, Body, Closed, Epoch, Error, ReadError};

use crate::contract::{check, write};
use crate::support::{on_shard, soon};

#[test]
fn keeps_the_contract() {
    on_shard(async { check(MemoryStore::new().shard()).await });
}

#[test]
fn shards_see_the_same_ledgers_and_fence_each_other() {
    on_shard(async {
        let memory = MemoryStore::new();
        let (one, two) = (memory.shard(), memory.shard());
        let (mut writer, sink) = write(&one, 1, &[b"a"]).await;
        assert_eq!(soon(two.recover(writer.ledger(), Epoch(2))).await.unwrap(), Closed { last: Some(0), length: 1 });
        assert!(matches!(writer.append(Body::from(&b"b"[..])), Err(AppendError::Fenced { .. })));
        assert!(matches!(soon(sink.failed()).await, AppendError::Fenced { by: Epoch(2), .. }));
    });
}

#[test]
fn held_acknowledgements_hold_recovery_and_close() {
    on_shard(async {
        let memory = MemoryStore::new();
        let store = memory.shard();
        memory.hold();
        let (writer, sink) = write(&store, 1, &[b"a", b"b", b"c"]).await;
        let ledger = writer.ledger();
        memory.release_some(ledger, 2);
        soon(sink.advanced_to(1)).await;
        let mut recovery = store.recover(ledger, Epoch(2));
        assert!(futures::poll!(&mut recovery).is_pending());
        assert_eq!(memory.counts(ledger), Some((3, 2)));
        memory.release();
        assert_eq!(soon(recovery).await.unwrap().last, Some(2));
        soon(sink.failed()).await;
        assert_eq!(sink.told().last, Some(2));
    });
}

#[test]
fn refusals_failures_and_corruption_are_told() {
    on_shard(async {
        let memory = MemoryStore::new();
        let store = memory.shard();
        let (mut writer, sink) = write(&store, 1, &[b"a"]).await;
        soon(sink.advanced_to(0)).await;
        memory.refuse_appends(Some("disk full"));
        assert!(matches!(writer.append(Body::from(&b"b"[..])), Err(AppendError::Unavailable(_))));
        memory.refuse_appends(None);
        memory.hold();
        writer.append(Body::from(&b"b"[..])).unwrap();
        memory.fail_writers("sync failed");
        assert!(matches!(soon(sink.failed()).await, AppendError::Indeterminate { .. }));
        assert_eq!(sink.told().last, Some(0));
        assert!(writer.append(Body::from(&b"c"[..])).is_err());
        assert_eq!(soon(store.recover(writer.ledger(), Epoch(1))).await.unwrap().last, Some(1));
        memory.corrupt(writer.ledger(), 1);
        assert_eq!(soon(store.read(writer.ledger(), 0, 1, 99)).await.unwrap().len(), 1);
        let corrupt = soon(store.read(writer.ledger(), 1, 1, 99)).await.unwrap_err();
        assert!(matches!(corrupt, ReadError::Corrupt { entry: 1, .. }), "{corrupt}");
    });
}

#[test]
fn a_crash_keeps_what_was_acknowledged_and_kills_writers() {
    on_shard(async {
        let memory = MemoryStore::new();
        let store = memory.shard();
        let (mut writer, sink) = write(&store, 1, &[b"a"]).await;
        soon(sink.advanced_to(0)).await;
        memory.hold();
        for _ in 0..3 {
            writer.append(Body::from(&b"b"[..])).unwrap();
        }
        memory.crash(1);
        assert!(writer.append(Body::from(&b"c"[..])).is_err());
        let ledger = writer.ledger();
        assert!(matches!(soon(writer.close()).await, Err(Error::NoLedger(_))));
        assert_eq!(soon(memory.shard().recover(ledger, Epoch(2))).await.unwrap().last, Some(1));
        assert!(sink.told().error.is_none());
    });
}
