//! Reading, and what a connection takes for the answer to what.

use std::sync::Arc;
use std::time::Duration;

use plerion_bookkeeper::ledger_metadata::{LedgerMetadata, State};
use plerion_bookkeeper::net::{InFlight, Key, Sent};
use plerion_bookkeeper::protocol::read::{Config, Error, Event, Read};
use plerion_bookkeeper::protocol::{Action, Call, Failure, Purpose, Reply, Token, Wake};

use super::{LEDGER, bookie, digester, open_metadata, sealed, sort};

fn closed(last: i64) -> LedgerMetadata {
    let mut metadata = open_metadata((3, 3, 2));
    (metadata.state, metadata.last, metadata.length) = (State::Closed, last, (last + 1) * 7);
    metadata
}

fn start(metadata: LedgerMetadata, first: i64, last: i64) -> (Read, Vec<Action<Event>>) {
    let config = Config {
        ledger: LEDGER,
        digester: digester(),
        metadata: Arc::new(metadata),
        first,
        last,
        max_bytes: 1_000,
        prefer: 0,
        batches: true,
        speculate: Some(Duration::from_secs(2)),
    };
    let mut out = Vec::new();
    let read = Read::start(config, &mut out);
    (read, out)
}

fn ids(event: &Event) -> Vec<i64> {
    if let Event::Done(found) = event { found.iter().map(|sealed| sealed.header.entry).collect() } else { Vec::new() }
}

/// C25, C49, U8: a batch that goes beyond the end is cut there, and at the border of a segment.
#[test]
fn c49_batches_are_cut_at_the_end_and_at_segments() {
    let (mut read, mut out) = start(closed(4), 3, 4);
    let (to, _, token) = sort(&mut out).sends.remove(0);
    let leftover = (3..7).map(|entry| sealed(entry, entry - 1)).collect();
    read.on_reply(&to, token, Reply::Entries(leftover), &mut out);
    assert_eq!(ids(&sort(&mut out).told[0]), [3, 4]);
    let mut two = closed(9);
    assert!(two.change_ensemble(5, vec![bookie(3), bookie(4), bookie(5)]));
    let (_, mut out) = start(two, 3, 9);
    let sends = sort(&mut out).sends;
    assert!(matches!(sends[0].1, Call::Batch { first: 3, count: 2, .. }), "{sends:?}");
}

/// U8: a damaged entry in a batch: what precedes it is kept, and if nothing does the next replica is asked.
#[test]
fn u8_a_damaged_batch() {
    let (mut read, mut out) = start(closed(4), 0, 4);
    let (to, _, token) = sort(&mut out).sends.remove(0);
    read.on_reply(&to, token, Reply::Entries(vec![sealed(1, 0)]), &mut out);
    let (next, _, token) = sort(&mut out).sends.remove(0);
    assert_ne!(next, to);
    read.on_reply(&next, token, Reply::Entries(vec![sealed(0, -1), sealed(1, 0), sealed(3, 2)]), &mut out);
    assert_eq!(ids(&sort(&mut out).told[0]), [0, 1]);
    assert_eq!(read.mismatches(), 2);
}

/// A slow replica: another is asked as well, and the first good answer is taken, once.
#[test]
fn a_slow_replica_is_not_waited_for() {
    let (mut read, mut out) = start(closed(4), 2, 2);
    let first = sort(&mut out).sends.remove(0);
    read.on_wake(&Wake::Speculate, &mut out);
    let second = sort(&mut out).sends.remove(0);
    assert_ne!(first.0, second.0);
    read.on_reply(&second.0, second.2, Reply::Entry(sealed(2, 1)), &mut out);
    assert_eq!(ids(&sort(&mut out).told[0]), [2]);
    read.on_reply(&first.0, first.2, Reply::Entry(sealed(2, 1)), &mut out);
    assert!(out.is_empty());
}

/// Mixed errors: that nobody has an entry is said only if everybody said so.
#[test]
fn mixed_errors_are_told_as_worth_a_retry() {
    for (failures, retry) in [
        ([Failure::NoEntry, Failure::TimedOut, Failure::NoLedger], true),
        ([Failure::NoEntry, Failure::NoEntry, Failure::NoLedger], false),
    ] {
        let (mut read, mut out) = start(closed(4), 2, 2);
        for failure in failures {
            let (to, _, token) = sort(&mut out).sends.remove(0);
            read.on_reply(&to, token, Reply::Failed(failure), &mut out);
        }
        let told = sort(&mut out).told.remove(0);
        match told {
            Event::Failed(Error::Failed { failure: Failure::TimedOut, .. }) => assert!(retry),
            Event::Failed(Error::Missing { entry: 2, .. }) => assert!(!retry),
            other => panic!("{other:?}"),
        }
    }
}

/// C39, U7: the answer that comes after a time-out is not taken for that to the same question asked again.
#[test]
fn c39_a_late_answer_is_nobodys() {
    let second = Duration::from_secs;
    let mut open = InFlight::default();
    let key = Key::Read(LEDGER, 5);
    assert_eq!(open.put(key, "first", second(10)), Sent::Down);
    assert_eq!(open.put(key, "same", second(10)), Sent::Taken("same"));
    assert_eq!(open.expire(second(9)), [] as [&str; 0]);
    assert_eq!(open.expire(second(10)), ["first"]);
    // Until the late answer came, the same must be asked in another way.
    assert_eq!(open.put(key, "again", second(20)), Sent::Taken("again"));
    assert_eq!(open.take(key), None);
    assert_eq!(open.put(key, "again", second(20)), Sent::Down);
    assert_eq!(open.expire(second(11)), [] as [&str; 0]);
    assert_eq!(open.take(key), Some("again"));
    assert!(open.is_empty());
}

/// C40: a plain and a fencing read of the last entry differ in what their answers are recognised by.
#[test]
fn c40_a_fence_is_answered_by_its_own_answer() {
    let mut open = InFlight::default();
    let deadline = Duration::from_secs(10);
    assert_eq!(open.put(Key::Read(LEDGER, -1), "plain", deadline), Sent::Down);
    assert_eq!(open.put(Key::Txn(1), "fence", deadline), Sent::Down);
    assert_eq!(open.take(Key::Read(LEDGER, -1)), Some("plain"));
    assert_eq!(open.take(Key::Txn(1)), Some("fence"));
    assert_eq!(open.take(Key::Txn(1)), None);
    // A number is never used again, so nothing has to be remembered of what timed out.
    assert_eq!(open.put(Key::Txn(2), "fence", deadline), Sent::Down);
    assert_eq!(open.expire(deadline), ["fence"]);
    assert!(open.is_empty());
}

#[test]
fn an_answer_from_nowhere_is_ignored() {
    let (mut read, mut out) = start(closed(4), 2, 2);
    out.clear();
    let token = Token { index: 9, entry: 77, purpose: Purpose::Read };
    read.on_reply(&bookie(9), token, Reply::Entry(sealed(2, 1)), &mut out);
    assert!(out.is_empty());
}
