use proptest::prelude::*;

use super::*;

fn one(sequence: i64) -> Sequence {
    Sequence::new(sequence, None)
}

fn ready() -> State {
    let mut state = State::default();
    assert!(state.begin());
    state.finish(Some(Recovery::empty(0).finish()));
    state
}

#[test]
fn without_deduplication_everything_is_new_and_no_sequence_is_known() {
    let mut state = State::default();
    assert_eq!(state.decide("p", one(3)), Decision::New);
    assert_eq!(state.decide("p", one(3)), Decision::New);
    assert_eq!(state.last_sequence_id("p"), -1);
}

#[test]
fn a_message_is_duplicate_only_once_persisted() {
    let mut state = ready();
    assert_eq!(state.decide("p", one(5)), Decision::New);
    assert_eq!(state.decide("p", one(5)), Decision::Undecided);
    state.ready().unwrap().persisted("p", one(5));
    assert_eq!(state.decide("p", one(5)), Decision::Duplicate);
    assert_eq!(state.decide("p", one(4)), Decision::Duplicate);
    assert_eq!(state.decide("p", one(7)), Decision::New);
    assert_eq!(state.decide("q", one(0)), Decision::New);
    assert_eq!(state.last_sequence_id("p"), 5);
}

#[test]
fn bug_pulsar_5218_a_failed_write_is_not_taken_for_a_duplicate() {
    let mut state = ready();
    assert_eq!(state.decide("p", one(4)), Decision::New);
    state.ready().unwrap().persisted("p", one(4));
    assert_eq!(state.decide("p", one(5)), Decision::New);
    assert_eq!(state.decide("p", one(6)), Decision::New);
    state.ready().unwrap().failed("p");
    state.ready().unwrap().failed("p");
    assert_eq!(state.decide("p", one(4)), Decision::Duplicate);
    assert_eq!(state.decide("p", one(5)), Decision::New);
    assert_eq!(state.decide("p", one(6)), Decision::New);
}

#[test]
fn bug_pulsar_25954_recovery_runs_once_and_shows_nothing_before_its_end() {
    let mut state = State::default();
    assert!(state.begin());
    assert!(!state.begin(), "a second recovery must join the first");
    let mut recovery = Recovery::empty(0);
    recovery.replay("p", one(8));
    assert_eq!(state.decide("p", one(8)), Decision::Undecided);
    state.finish(Some(recovery.finish()));
    assert!(!state.begin());
    assert_eq!(state.decide("p", one(8)), Decision::Duplicate);
    assert_eq!(state.decide("p", one(9)), Decision::New);
}

#[test]
fn a_failed_recovery_begins_anew_from_nothing() {
    let mut state = State::default();
    assert!(state.begin());
    state.finish(None);
    assert!(state.begin());
    state.finish(Some(Recovery::empty(0).finish()));
    assert_eq!(state.decide("p", one(0)), Decision::New);
}

#[test]
fn batches_count_by_their_first_and_mark_their_highest() {
    let mut state = ready();
    assert_eq!(state.decide("p", Sequence::new(0, Some(9))), Decision::New);
    state.ready().unwrap().persisted("p", Sequence::new(0, Some(9)));
    assert_eq!(state.decide("p", Sequence::new(9, Some(12))), Decision::Duplicate);
    assert_eq!(state.decide("p", Sequence::new(10, Some(12))), Decision::New);
}

#[test]
fn only_the_last_chunk_decides() {
    let mut state = ready();
    for id in 0..3 {
        let sequence = Sequence::chunk(7, id, 3);
        assert_eq!(state.decide("p", sequence), Decision::New, "chunk {id}");
        state.ready().unwrap().persisted("p", sequence);
        assert_eq!(state.last_sequence_id("p"), if id < 2 { -1 } else { 7 });
    }
    assert_eq!(state.decide("p", Sequence::chunk(7, 0, 3)), Decision::New);
    assert_eq!(state.decide("p", Sequence::chunk(7, 2, 3)), Decision::Duplicate);
}

#[test]
fn idle_names_are_purged_connected_ones_never() {
    let mut dedup = Dedup::default();
    for (name, left) in [("a", Some(100)), ("b", Some(500)), ("c", None)] {
        dedup.connected(name);
        dedup.persisted(name, one(1));
        if let Some(at) = left {
            dedup.left(name, at);
        }
    }
    assert_eq!(dedup.purge(700, 400), 1);
    assert_eq!(dedup.last_sequence_id("a"), -1);
    assert_eq!(dedup.purge(10_000, 400), 1);
    assert_eq!((dedup.len(), dedup.last_sequence_id("c")), (1, 1));
}

#[test]
fn a_snapshot_prefers_names_in_use() {
    let mut dedup = Dedup::default();
    for (name, left) in [("a", Some(100)), ("b", Some(500)), ("c", None)] {
        dedup.persisted(name, one(1));
        if let Some(at) = left {
            dedup.left(name, at);
        }
    }
    let dedup = Recovery::new(&dedup.snapshot(Position::new(3, 4), 2), 0).unwrap().finish();
    assert_eq!(["a", "b", "c"].map(|name| dedup.last_sequence_id(name)), [-1, 1, 1]);
}

#[test]
fn damaged_snapshots_are_refused() {
    let mut dedup = Dedup::default();
    dedup.persisted("producer", one(1));
    let snapshot = dedup.snapshot(Position::new(3, 4), 10);
    for length in 0..snapshot.len() {
        assert!(Recovery::new(&snapshot[..length], 0).is_err(), "{length} bytes");
    }
    assert!(matches!(Recovery::new(&[9], 0), Err(Error::Version(9))));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is published, lost and sent again, each sequence id is stored exactly once per producer, also across
    /// restarts from a snapshot and the entries after it.
    #[test]
    fn each_message_is_stored_once(steps in prop::collection::vec((0..3usize, 0..4u8), 1..200)) {
        let names = ["a", "b", "c"];
        let mut dedup = Dedup::default();
        let mut log: Vec<(usize, i64)> = Vec::new();
        let mut next = [0i64; 3];
        let mut snapshot = (dedup.snapshot(Position::EARLIEST, 10), 0);
        for (producer, step) in steps {
            let name = names[producer];
            match step {
                0 | 1 => {
                    // Everything unacknowledged is sent again first, then something new.
                    for sequence in next[producer].saturating_sub(2).max(0)..=next[producer] {
                        match dedup.decide(name, one(sequence)) {
                            Decision::New if step == 0 => {
                                log.push((producer, sequence));
                                dedup.persisted(name, one(sequence));
                            }
                            Decision::New => { dedup.failed(name); break; }
                            Decision::Duplicate => {}
                            Decision::Undecided => prop_assert!(false, "nothing is in flight"),
                        }
                    }
                    if step == 0 { next[producer] += 1; }
                }
                2 => snapshot = (dedup.snapshot(Position::new(0, log.len() as i64 - 1), 10), log.len()),
                _ => {
                    let mut recovery = Recovery::new(&snapshot.0, 0).unwrap();
                    for (producer, sequence) in &log[snapshot.1..] {
                        recovery.replay(names[*producer], one(*sequence));
                    }
                    dedup = recovery.finish();
                }
            }
        }
        for (producer, count) in next.iter().enumerate() {
            let stored: Vec<_> = log.iter().filter(|entry| entry.0 == producer).map(|entry| entry.1).collect();
            prop_assert_eq!(stored, (0..*count).collect::<Vec<_>>());
        }
    }
}
