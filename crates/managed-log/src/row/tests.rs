use bytes::Bytes;
use plerion_ledger::{Epoch, LedgerId};
use plerion_subscription::Position;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;

fn ledger() -> impl Strategy<Value = LedgerInfo> {
    (any::<u64>(), any::<u64>(), any::<u64>(), option::of(any::<u64>()))
        .prop_map(|(id, entries, bytes, sealed_ms)| LedgerInfo { id: LedgerId(id), entries, bytes, sealed_ms })
}

fn position() -> impl Strategy<Value = Position> {
    (any::<i64>(), any::<i64>()).prop_map(|(ledger, entry)| Position::new(ledger, entry))
}

fn topic_row() -> impl Strategy<Value = TopicRow> {
    let state = prop_oneof![
        vec(any::<u8>(), 0..40).prop_map(|bytes| State::Inline(Bytes::from(bytes))),
        any::<u64>().prop_map(|id| State::Ledger(LedgerId(id))),
    ];
    let ids = vec(any::<u64>().prop_map(LedgerId), 0..4);
    let facts = (option::of(position()), option::of(position()), option::of(any::<u64>()));
    let rest = (btree_map(".{0,5}", ".{0,5}", 0..3), any::<u64>(), state);
    (any::<u64>(), vec(ledger(), 0..5), ids, facts, rest).prop_map(|(owner, ledgers, doomed, facts, rest)| TopicRow {
        owner: Epoch(owner),
        ledgers,
        doomed,
        trimmed: facts.0,
        terminated: facts.1,
        topic_epoch: facts.2,
        properties: rest.0,
        checkpoint: Checkpoint { sequence: rest.1, state: rest.2 },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_topic_row_survives_its_binary_form(row in topic_row(), cut: u16) {
        let bytes = row.encode();
        prop_assert_eq!(TopicRow::decode(bytes.clone()).unwrap(), row);
        prop_assert!(TopicRow::decode(bytes.slice(..usize::from(cut) % bytes.len())).is_err());
    }
}

#[test]
fn a_bundle_row_survives_its_binary_form() {
    let row = BundleRow { owner: Epoch(3), ledgers: vec![LedgerId(4), LedgerId(5)], doomed: vec![LedgerId(2)] };
    assert_eq!(BundleRow::decode(row.encode()).unwrap(), row);
}

#[test]
fn a_row_of_a_later_release_is_refused() {
    let later = crate::codec::seal(2, |_| ());
    assert!(TopicRow::decode(later).unwrap_err().contains("format"));
}

#[test]
fn the_row_of_a_quiet_topic_is_small() {
    let mut row = TopicRow::new(Epoch(1), 1_000);
    row.ledgers.push(LedgerInfo { id: LedgerId(70_000), entries: 5_000, bytes: 5 << 20, sealed_ms: Some(1 << 40) });
    assert!(row.encode().len() < 50, "{}", row.encode().len());
}
