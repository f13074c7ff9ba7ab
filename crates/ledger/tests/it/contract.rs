//! What every store must do.

use std::rc::Rc;

use plerion_ledger::{
    AppendError, Body, Class, Closed, CreateOptions, Entry, Epoch, Error, LedgerId, LedgerStore, LedgerWriter,
    ReadError, Verified,
};

use crate::support::{Recorder, soon};

pub(crate) type Store = Rc<dyn LedgerStore>;

pub(crate) async fn write(store: &Store, epoch: u64, bodies: &[&[u8]]) -> (Box<dyn LedgerWriter>, Rc<Recorder>) {
    let sink = Recorder::new();
    let mut writer = soon(store.create(
        Epoch(epoch),
        CreateOptions { journal_key: 0, class: Class::Messages },
        Rc::clone(&sink) as _,
    ))
    .await
    .unwrap();
    for (id, body) in bodies.iter().enumerate() {
        assert_eq!(writer.append(Body::from(*body)).unwrap(), id as u64);
    }
    (writer, sink)
}

fn bytes(entries: &[Entry]) -> Vec<(u64, &[u8])> {
    entries.iter().map(|entry| (entry.id, &entry.bytes[..])).collect()
}

/// Runs every check on `store`.
pub(crate) async fn check(store: Store) {
    appends_are_acknowledged_and_read(&store).await;
    limits_are_kept(&store).await;
    sealing(&store).await;
    bug_pulsar_24901_an_orderly_handover_is_no_failure_to_the_writer(&store).await;
    fencing(&store).await;
    deleting(&store).await;
    verified_bodies(&store).await;
    a_dropped_writer_leaves_its_entries(&store).await;
    two_ledgers_are_apart(&store).await;
}

async fn appends_are_acknowledged_and_read(store: &Store) {
    let (writer, sink) = write(store, 1, &[b"zero", b"", b"two"]).await;
    assert_eq!(sink.told().last, None, "told from within append");
    soon(sink.advanced_to(2)).await;
    let read = soon(store.read(writer.ledger(), 0, 2, usize::MAX)).await.unwrap();
    assert_eq!(bytes(&read), [(0, &b"zero"[..]), (1, b""), (2, b"two")]);
    let mut cached = Vec::new();
    let count = store.read_cached(writer.ledger(), 1, 2, usize::MAX, &mut cached);
    assert_eq!(bytes(&cached), [(1, &b""[..]), (2, b"two")][..count]);
    let missing = soon(store.read(writer.ledger(), 3, 9, 1)).await.unwrap_err();
    assert!(matches!(missing, ReadError::NoEntry { entry: 3, .. }), "{missing}");
}

async fn limits_are_kept(store: &Store) {
    let (writer, sink) = write(store, 1, &[&[1; 100], &[2; 100], &[3; 100]]).await;
    soon(sink.advanced_to(2)).await;
    let ledger = writer.ledger();
    for (max_bytes, expected) in [(0, 1), (100, 1), (199, 1), (200, 2), (1000, 3)] {
        assert_eq!(soon(store.read(ledger, 0, 2, max_bytes)).await.unwrap().len(), expected, "of {max_bytes} bytes");
    }
    assert_eq!(soon(store.read(ledger, 1, 1, 1000)).await.unwrap().len(), 1);
}

async fn sealing(store: &Store) {
    let (writer, sink) = write(store, 3, &[b"a", b"bcd"]).await;
    let ledger = writer.ledger();
    let closed = soon(writer.close()).await.unwrap();
    assert_eq!(closed, Closed { last: Some(1), length: 4 });
    assert_eq!(sink.told().last, Some(1));
    assert!(sink.told().error.is_none());
    assert_eq!(soon(store.recover(ledger, Epoch(4))).await.unwrap(), closed);
    assert_eq!(soon(store.recover(ledger, Epoch(4))).await.unwrap(), closed);
    let stale = soon(store.recover(ledger, Epoch(3))).await.unwrap_err();
    assert!(matches!(stale, Error::Fenced { by: Epoch(4), .. }), "{stale}");
    let (empty, _) = write(store, 1, &[]).await;
    assert_eq!(soon(empty.close()).await.unwrap(), Closed { last: None, length: 0 });
}

/// <https://github.com/apache/pulsar/issues/24901>
async fn bug_pulsar_24901_an_orderly_handover_is_no_failure_to_the_writer(store: &Store) {
    let (writer, sink) = write(store, 1, &[b"a", b"b"]).await;
    let ledger = writer.ledger();
    let closed = soon(writer.close()).await.unwrap();
    assert_eq!(soon(store.recover(ledger, Epoch(2))).await.unwrap(), closed);
    let (_later_writer, later) = write(store, 2, &[b"c"]).await;
    soon(later.advanced_to(0)).await;
    assert_eq!((sink.told().last, sink.told().error.is_none()), (Some(1), true));
}

async fn fencing(store: &Store) {
    let (mut writer, sink) = write(store, 5, &[b"before"]).await;
    let ledger = writer.ledger();
    let stale = soon(store.recover(ledger, Epoch(4))).await.unwrap_err();
    assert!(matches!(stale, Error::Fenced { by: Epoch(5), .. }), "{stale}");
    writer.append(Body::from(&b"still mine"[..])).unwrap();
    let closed = soon(store.recover(ledger, Epoch(6))).await.unwrap();
    assert_eq!(closed, Closed { last: Some(1), length: 16 });
    let refused = writer.append(Body::from(&b"too late"[..])).unwrap_err();
    assert!(matches!(refused, AppendError::Fenced { by: Epoch(6), .. }), "{refused}");
    assert!(matches!(soon(sink.failed()).await, AppendError::Fenced { by: Epoch(6), .. }));
    assert_eq!(sink.told().last, Some(1), "what was appended before the fence is acknowledged");
    assert!(soon(writer.close()).await.is_err());
    assert_eq!(soon(store.read(ledger, 0, 9, 100)).await.unwrap().len(), 2);
    let unknown = soon(store.recover(LedgerId(u64::MAX >> 1), Epoch(1))).await.unwrap_err();
    assert!(matches!(unknown, Error::NoLedger(_)), "{unknown}");
}

async fn deleting(store: &Store) {
    let (writer, sink) = write(store, 1, &[b"gone"]).await;
    soon(sink.advanced_to(0)).await;
    let ledger = writer.ledger();
    assert!(soon(store.list()).await.unwrap().contains(&ledger));
    drop(writer);
    soon(store.delete(ledger)).await.unwrap();
    soon(store.delete(ledger)).await.unwrap();
    assert!(!soon(store.list()).await.unwrap().contains(&ledger));
    assert!(matches!(soon(store.read(ledger, 0, 0, 1)).await, Err(ReadError::NoLedger(_))));
    assert_eq!(store.read_cached(ledger, 0, 0, 1, &mut Vec::new()), 0);
    assert!(matches!(soon(store.recover(ledger, Epoch(9))).await, Err(Error::NoLedger(_))));
}

async fn verified_bodies(store: &Store) {
    let (mut writer, sink) = write(store, 1, &[]).await;
    let body = b"head: the rest";
    let verified = Some(Verified { skip: 6, crc32c: crc32c::crc32c(&body[6..]) });
    writer.append(Body { bytes: body, verified }).unwrap();
    writer.append(Body { bytes: body, verified: Some(Verified { skip: 14, crc32c: 0 }) }).unwrap();
    soon(sink.advanced_to(1)).await;
    let read = soon(store.read(writer.ledger(), 0, 1, 100)).await.unwrap();
    assert_eq!(bytes(&read), [(0, &body[..]), (1, &body[..])]);
}

async fn a_dropped_writer_leaves_its_entries(store: &Store) {
    let (writer, sink) = write(store, 1, &[b"x", b"y"]).await;
    soon(sink.advanced_to(1)).await;
    let ledger = writer.ledger();
    drop(writer);
    assert_eq!(soon(store.recover(ledger, Epoch(1))).await.unwrap(), Closed { last: Some(1), length: 2 });
}

async fn two_ledgers_are_apart(store: &Store) {
    let (mut one, first) = write(store, 1, &[]).await;
    let (mut two, second) = write(store, 1, &[]).await;
    assert!(two.ledger() > one.ledger(), "ids increase");
    for id in 0..100u64 {
        assert_eq!(one.append(Body::from(&id.to_be_bytes()[..])).unwrap(), id);
        assert_eq!(two.append(Body::from(&(!id).to_be_bytes()[..])).unwrap(), id);
    }
    soon(first.advanced_to(99)).await;
    soon(second.advanced_to(99)).await;
    let read = soon(store.read(two.ledger(), 7, 99, usize::MAX)).await.unwrap();
    assert!(read.iter().zip(7..).all(|(entry, id)| entry.id == id && entry.bytes[..] == (!id).to_be_bytes()));
    let list = soon(store.list()).await.unwrap();
    assert!(list.is_sorted() && list.contains(&one.ledger()) && list.contains(&two.ledger()));
}
