//! Cursors against plain sets.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// The acknowledged entries, and the messages left of partly acknowledged ones.
#[derive(Default)]
struct Model {
    acked: BTreeSet<Position>,
    left: BTreeMap<Position, BTreeSet<u32>>,
}

impl Model {
    fn ack(&mut self, position: Position) {
        self.acked.insert(position);
        self.left.remove(&position);
    }

    fn ack_batch(&mut self, position: Position, left: &BTreeSet<u32>) {
        if self.acked.contains(&position) {
            return;
        }
        let all = (0..batch_size(position)).collect();
        let kept = self.left.remove(&position).unwrap_or(all).intersection(left).copied().collect::<BTreeSet<_>>();
        if kept.is_empty() {
            self.acked.insert(position);
        } else if kept.len() < batch_size(position) as usize {
            self.left.insert(position, kept);
        }
    }
}

fn batch_size(position: Position) -> u32 {
    [1, 3, 64, 70][(position.ledger + position.entry).rem_euclid(4) as usize]
}

#[derive(Clone, Debug)]
enum Step {
    Append(u8),
    Roll(bool),
    Trim(usize),
    Ack(usize),
    AckBatch(usize, [u64; 2]),
    Cumulative(usize),
    CumulativeBatch(usize, [u64; 2]),
    Seek(usize),
    Drain,
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    let sparse = prop_oneof![Just(0u64), Just(1), Just(u64::MAX), any::<u64>()];
    let words = [sparse.clone(), sparse];
    prop_oneof![
        4 => (1..12u8).prop_map(Step::Append),
        1 => any::<bool>().prop_map(Step::Roll),
        1 => (0..1000usize).prop_map(Step::Trim),
        12 => (0..1000usize).prop_map(Step::Ack),
        6 => (0..1000usize, words.clone()).prop_map(|(at, words)| Step::AckBatch(at, words)),
        2 => (0..1000usize).prop_map(Step::Cumulative),
        2 => (0..1000usize, words).prop_map(|(at, words)| Step::CumulativeBatch(at, words)),
        1 => (0..1000usize).prop_map(Step::Seek),
        4 => Just(Step::Drain),
        1 => Just(Step::Forget),
    ]
}

/// An entry, mostly near the mark-delete position, or now and then a place without one.
fn target(log: &TestLog, cursor: &Cursor, number: usize) -> Position {
    let first_left = log.entries().take_while(|entry| cursor.is_acked(*entry)).count();
    let spread = if number.is_multiple_of(3) { log.len() + 1 } else { 8 };
    log.entries().nth((first_left.saturating_sub(2)) + number % spread).unwrap_or_else(|| log.last().after())
}

fn bits([low, high]: [u64; 2], size: u32) -> BTreeSet<u32> {
    (0..size).filter(|bit| if *bit < 64 { low >> bit & 1 == 1 } else { high >> (bit - 64) & 1 == 1 }).collect()
}

fn check(cursor: &Cursor, model: &Model, log: &TestLog) -> Result<(), TestCaseError> {
    let unacked: Vec<_> = log.entries().filter(|entry| !model.acked.contains(entry)).collect();
    prop_assert_eq!(cursor.backlog(log), unacked.len() as u64);
    prop_assert_eq!(cursor.next_unacked(Position::EARLIEST, log), unacked.first().copied());
    for (number, entry) in log.entries().enumerate() {
        prop_assert_eq!(cursor.is_acked(entry), model.acked.contains(&entry), "{}", entry);
        let size = batch_size(entry);
        let left =
            if model.acked.contains(&entry) { 0 } else { model.left.get(&entry).map_or(size, |l| l.len() as u32) };
        prop_assert_eq!(cursor.remaining_count(entry, size), left, "{}", entry);
        if number % 5 == 0 {
            let next = unacked.iter().find(|other| **other >= entry).copied();
            prop_assert_eq!(cursor.next_unacked(entry, log), next);
        }
    }
    let left = unacked.first().copied();
    prop_assert!(left.is_none_or(|first| first > cursor.mark_delete()));
    prop_assert!(
        log.entries().filter(|entry| left.is_none_or(|left| *entry < left)).all(|e| e <= cursor.mark_delete())
    );
    let holes: u64 = cursor.acked_runs().map(|(start, end)| (end.entry - start.entry + 1) as u64).sum();
    prop_assert_eq!(holes, cursor.acked_after_mark_delete());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cursor_is_the_set_of_what_was_acknowledged(steps in prop::collection::vec(step(), 1..150)) {
        let mut log = TestLog::with(3);
        let (mut cursor, mut model) = (cursor(), Model::default());
        // What a state log holds: a snapshot from some time, and all deltas from a time before or at it.
        let mut snapshot = cursor.snapshot();
        let mut deltas: Vec<Vec<u8>> = Vec::new();
        for step in steps {
            match step {
                Step::Append(count) => (0..count).for_each(|_| _ = log.append()),
                Step::Roll(skip) => log.roll(skip.into()),
                Step::Trim(number) => {
                    log.trim(target(&log, &cursor, number).ledger);
                    cursor.trim(&log);
                    model.left.retain(|position, _| log.contains(*position));
                }
                Step::Ack(number) => {
                    let position = target(&log, &cursor, number);
                    let whole = log.contains(position) && !model.acked.contains(&position);
                    prop_assert_eq!(cursor.ack(position, &log) == Acked::Whole, whole);
                    if whole { model.ack(position); }
                }
                Step::AckBatch(number, words) => {
                    let position = target(&log, &cursor, number);
                    cursor.ack_batch(position, &words.map(|word| word as i64), batch_size(position), &log);
                    if log.contains(position) {
                        model.ack_batch(position, &bits(words, batch_size(position)));
                    }
                }
                Step::Cumulative(number) => {
                    let position = target(&log, &cursor, number);
                    cursor.ack_cumulative(position, &log);
                    if position <= log.last() {
                        log.entries().filter(|entry| *entry <= position).for_each(|entry| model.ack(entry));
                    }
                }
                Step::CumulativeBatch(number, words) => {
                    let position = target(&log, &cursor, number);
                    let size = batch_size(position);
                    let counts = log.contains(position) && position > cursor.mark_delete();
                    cursor.ack_cumulative_batch(position, &words.map(|word| word as i64), size, &log);
                    if counts {
                        log.entries().filter(|entry| *entry < position).for_each(|entry| model.ack(entry));
                        model.ack_batch(position, &bits(words, size));
                    }
                }
                Step::Seek(number) => {
                    let position = target(&log, &cursor, number);
                    cursor.seek(position, None, &log);
                    model = Model::default();
                    log.entries().filter(|entry| *entry < position).for_each(|entry| model.ack(entry));
                }
                Step::Drain => {
                    deltas.extend(cursor.drain());
                    prop_assert!(!cursor.is_dirty());
                    let mut replica = Cursor::restore(&snapshot).unwrap();
                    for delta in &deltas {
                        replica.apply(delta).unwrap();
                    }
                    prop_assert_eq!(&replica.state, &cursor.state);
                }
                Step::Forget => {
                    snapshot = cursor.snapshot();
                    deltas.extend(cursor.drain());
                    // Deltas older than the snapshot stay: replaying them must not matter.
                    let stale = deltas.len().saturating_sub(3);
                    deltas.drain(..stale);
                }
            }
            check(&cursor, &model, &log)?;
        }
    }
}
