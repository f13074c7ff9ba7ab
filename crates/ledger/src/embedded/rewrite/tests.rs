use super::*;
use crate::Epoch;

fn candidate(number: u64, sorted: bool, size: u64, rows: u64, bytes: u64) -> Candidate {
    Candidate { number, sorted, size, live: Live { rows, bytes } }
}

const MIB: u64 = 1 << 20;
const ROOM: u64 = 256 * MIB;

#[test]
fn ledgers_in_pieces_are_put_together_once() {
    assert_eq!(choose(&[candidate(1, false, ROOM, 10_000, 200 * MIB)], ROOM), [1]);
    assert!(choose(&[candidate(1, true, ROOM, 10_000, 200 * MIB)], ROOM).is_empty());
}

#[test]
fn a_segment_of_a_few_long_ledgers_stays_until_it_is_mostly_dead() {
    assert!(choose(&[candidate(1, false, ROOM, 3, 200 * MIB)], ROOM).is_empty());
    assert_eq!(choose(&[candidate(1, false, ROOM, 3, 100 * MIB)], ROOM), [1]);
    assert_eq!(choose(&[candidate(1, true, ROOM, 3, 100 * MIB)], ROOM), [1]);
}

#[test]
fn several_go_into_one_as_far_as_there_is_room() {
    let candidates: Vec<_> = (1..=4).map(|number| candidate(number, false, ROOM, 1000, 100 * MIB)).collect();
    assert_eq!(choose(&candidates, ROOM), [1, 2]);
}

#[test]
fn a_short_sorted_segment_is_left_alone() {
    assert!(choose(&[candidate(1, true, MIB, 0, 0)], ROOM).is_empty());
}

fn row(ledger: u64, first: u64, count: u32) -> Summary {
    Summary { ledger, epoch: Epoch(1), sealed: None, first, count, bytes: 0 }
}

#[test]
fn a_ledger_whose_middle_is_elsewhere_is_not_put_together() {
    assert_eq!(gap(&[(row(1, 0, 10), 0), (row(1, 10, 5), 1), (row(2, 30, 1), 0)]), None);
    assert_eq!(gap(&[(row(1, 0, 10), 0), (row(1, 20, 5), 1)]), Some(1));
    assert_eq!(gap(&[(row(1, 0, 10), 0), (row(1, 0, 0), 1), (row(1, 10, 1), 1)]), None);
}
