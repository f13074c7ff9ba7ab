mod model;

use super::*;
use crate::test_log::TestLog;

fn at(entry: i64) -> Position {
    Position::new(3, entry)
}

fn cursor() -> Cursor {
    Cursor::new(at(-1))
}

#[test]
fn mark_delete_moves_over_the_run_it_meets() {
    let log = TestLog::with(10);
    let mut cursor = cursor();
    for entry in [1, 2, 4, 7] {
        assert_eq!(cursor.ack(at(entry), &log), Acked::Whole);
    }
    assert_eq!((cursor.mark_delete(), cursor.backlog(&log)), (at(-1), 6));
    assert_eq!(cursor.ack(at(0), &log), Acked::Whole);
    assert_eq!((cursor.mark_delete(), cursor.backlog(&log)), (at(2), 5));
    assert_eq!(cursor.acked_runs().collect::<Vec<_>>(), [(at(4), at(4)), (at(7), at(7))]);
    assert_eq!(cursor.ack(at(4), &log), Acked::Unchanged);
    assert_eq!(cursor.next_unacked(at(4), &log), Some(at(5)));
}

#[test]
fn mark_delete_moves_across_ledgers() {
    let mut log = TestLog::with(2);
    log.roll(0);
    log.roll(1);
    let next = log.append();
    let mut cursor = cursor();
    cursor.ack(next, &log);
    cursor.ack(at(1), &log);
    cursor.ack(at(0), &log);
    assert_eq!((cursor.mark_delete(), cursor.backlog(&log)), (next, 0));
    assert_eq!(cursor.next_unacked(Position::EARLIEST, &log), None);
}

#[test]
fn what_is_not_in_the_log_cannot_be_acknowledged() {
    let log = TestLog::with(3);
    let mut cursor = cursor();
    for position in [at(3), at(i64::MAX), at(-1), Position::new(9, 0), Position::LATEST, Position::EARLIEST] {
        assert_eq!(cursor.ack(position, &log), Acked::Unchanged, "{position}");
        assert_eq!(cursor.ack_batch(position, &[0], 5, &log), Acked::Unchanged, "{position}");
        assert!(!cursor.ack_cumulative(position, &log), "{position}");
    }
    assert_eq!((cursor.mark_delete(), cursor.backlog(&log)), (at(-1), 3));
}

#[test]
fn a_batch_is_acknowledged_by_its_last_message() {
    let log = TestLog::with(2);
    let mut cursor = cursor();
    assert_eq!(cursor.ack_batch(at(1), &[0b1_1111], 5, &log), Acked::Unchanged);
    assert_eq!(cursor.ack_batch(at(1), &[0b1_1101], 5, &log), Acked::Partly { remaining: 4 });
    assert_eq!(cursor.ack_batch(at(1), &[0b0_1111], 5, &log), Acked::Partly { remaining: 3 });
    assert_eq!(cursor.remaining(at(1)), Some(vec![0b0_1101]));
    assert_eq!((cursor.remaining_count(at(1), 5), cursor.remaining_count(at(0), 7)), (3, 7));
    assert_eq!(cursor.ack_batch(at(1), &[0b0_1111], 5, &log), Acked::Unchanged);
    assert_eq!(cursor.ack_batch(at(1), &[!0b0_1101], 5, &log), Acked::Whole);
    assert_eq!((cursor.remaining(at(1)), cursor.remaining_count(at(1), 5)), (None, 0));
    assert_eq!(cursor.backlog(&log), 1);
}

#[test]
fn words_beyond_the_batch_do_not_count() {
    let log = TestLog::with(1);
    let mut cursor = cursor();
    assert_eq!(cursor.ack_batch(at(0), &[-1, -1, -1], 65, &log), Acked::Unchanged);
    assert_eq!(cursor.ack_batch(at(0), &[-2, -1, -1], 65, &log), Acked::Partly { remaining: 64 });
    assert_eq!(cursor.ack_batch(at(0), &[0, 2], 65, &log), Acked::Whole);
}

#[test]
fn cumulative_and_partial_cumulative_alternate() {
    let log = TestLog::with(6);
    let mut cursor = cursor();
    assert!(cursor.ack_cumulative_batch(at(2), &[0b100], 3, &log));
    assert_eq!((cursor.mark_delete(), cursor.remaining_count(at(2), 3)), (at(1), 1));
    assert!(cursor.ack_cumulative(at(3), &log));
    assert!(!cursor.ack_cumulative(at(2), &log) && !cursor.ack_cumulative(at(3), &log));
    assert!(!cursor.ack_cumulative_batch(at(2), &[0b100], 3, &log));
    assert!(cursor.ack_cumulative_batch(at(4), &[0], 3, &log));
    assert_eq!((cursor.mark_delete(), cursor.backlog(&log)), (at(4), 1));
    assert!(!cursor.ack_cumulative(at(6), &log), "beyond the end is refused");
    assert_eq!(cursor.mark_delete(), at(4));
}

#[test]
fn seek_knows_the_sentinels_and_clamps() {
    let mut log = TestLog::with(4);
    log.roll(0);
    let last = log.append();
    let mut cursor = cursor();
    let mut first_left = |target, batch: Option<(&[i64], u32)>| {
        cursor.seek(target, batch, &log);
        (cursor.next_unacked(Position::EARLIEST, &log), cursor.backlog(&log))
    };
    assert_eq!(first_left(Position::LATEST, None), (None, 0));
    assert_eq!(first_left(Position::EARLIEST, None), (Some(at(0)), 5));
    assert_eq!(first_left(at(2), None), (Some(at(2)), 3));
    assert_eq!(first_left(at(17), None), (Some(last), 1));
    assert_eq!(first_left(Position::new(9, 0), None), (None, 0));
    assert_eq!(first_left(Position::new(1, 5), None), (Some(at(0)), 5));
    assert_eq!(first_left(at(1), Some((&[0b110], 3))), (Some(at(1)), 4));
    assert_eq!((cursor.remaining_count(at(1), 3), cursor.mark_delete()), (2, at(0)));
}

#[test]
fn trimmed_entries_count_as_acknowledged() {
    let mut log = TestLog::with(4);
    log.roll(0);
    let (a, b) = (log.append(), log.append());
    let mut cursor = cursor();
    cursor.ack(at(2), &log);
    cursor.ack(a, &log);
    log.trim(4);
    assert!(cursor.trim(&log));
    assert_eq!((cursor.mark_delete(), cursor.backlog(&log), cursor.acked_after_mark_delete()), (a, 1, 0));
    assert_eq!(cursor.next_unacked(Position::EARLIEST, &log), Some(b));
    assert!(!cursor.trim(&log));
}

#[test]
fn bug_pulsar_25540_any_number_of_holes_survives_a_restart() {
    let log = TestLog::with(30_000);
    let mut cursor = cursor();
    let mut replica = Cursor::restore(&cursor.snapshot()).unwrap();
    cursor.drain();
    (0..30_000).filter(|entry| entry % 2 == 1).for_each(|entry| _ = cursor.ack(at(entry), &log));
    let delta = cursor.drain().unwrap();
    replica.apply(&delta).unwrap();
    let snapshot = cursor.snapshot();
    assert!(snapshot.len() < 10_000 && delta.len() < 10_000, "{} and {} bytes", snapshot.len(), delta.len());
    for restored in [Cursor::restore(&snapshot).unwrap(), replica] {
        assert_eq!(restored.backlog(&log), 15_000);
        assert!((0..30_000).all(|entry| restored.is_acked(at(entry)) == (entry % 2 == 1)));
    }
}

#[test]
fn bug_pulsar_14982_batch_acks_survive_a_restart() {
    let log = TestLog::with(1);
    let mut cursor = cursor();
    cursor.ack_batch(at(0), &[1 << 9], 10, &log);
    let restored = Cursor::restore(&cursor.snapshot()).unwrap();
    assert_eq!(restored.remaining(at(0)), Some(vec![1 << 9]));
    assert_eq!(restored.remaining_count(at(0), 10), 1);
}

#[test]
fn only_changes_make_a_cursor_dirty() {
    let log = TestLog::with(5);
    let mut cursor = cursor();
    assert!(cursor.is_dirty(), "a new cursor is not saved");
    assert!(cursor.drain().is_some());
    assert!(!cursor.is_dirty());
    cursor.ack(at(9), &log);
    cursor.ack_cumulative(at(9), &log);
    cursor.trim(&log);
    assert_eq!(cursor.drain(), None);
    for act in [
        |cursor: &mut Cursor, log: &TestLog| _ = cursor.ack(at(2), log),
        |cursor: &mut Cursor, log: &TestLog| _ = cursor.ack_batch(at(3), &[1], 2, log),
        |cursor: &mut Cursor, log: &TestLog| _ = cursor.ack(at(0), log),
        |cursor: &mut Cursor, log: &TestLog| cursor.seek(at(0), None, log),
    ] {
        act(&mut cursor, &log);
        assert!(cursor.is_dirty() && cursor.drain().is_some() && !cursor.is_dirty());
    }
}

#[test]
fn a_filled_run_makes_a_small_delta() {
    let log = TestLog::with(1000);
    let mut cursor = cursor();
    cursor.drain();
    (0..1000).step_by(2).skip(1).for_each(|entry| _ = cursor.ack(at(entry), &log));
    (0..1000).step_by(2).for_each(|entry| _ = cursor.ack(at(entry + 1), &log));
    cursor.ack(at(0), &log);
    assert_eq!(cursor.mark_delete(), at(999));
    assert!(cursor.drain().unwrap().len() < 30);
}

#[test]
fn a_cursor_that_is_never_saved_keeps_no_record_of_changes() {
    let log = TestLog::with(100);
    let mut cursor = cursor();
    (1..99).for_each(|entry| _ = cursor.ack_batch(at(entry), &[1], 2, &log));
    (1..99).step_by(3).for_each(|entry| _ = cursor.ack(at(entry), &log));
    assert!(cursor.unsaved.holes.is_empty() && cursor.unsaved.batches.is_empty());
    assert_eq!(Cursor::restore(&cursor.drain().unwrap()).unwrap().state, cursor.state);
}

#[test]
fn deltas_that_contradict_each_other_leave_the_entry_to_be_delivered() {
    let log = TestLog::with(1);
    let mut replica = cursor();
    for bits in [0b01, 0b10] {
        let mut cursor = cursor();
        cursor.drain();
        cursor.ack_batch(at(0), &[bits], 2, &log);
        replica.apply(&cursor.drain().unwrap()).unwrap();
    }
    assert_eq!((replica.remaining_count(at(0), 2), replica.backlog(&log)), (2, 1));
}

#[test]
fn an_old_delta_applied_again_changes_nothing() {
    let log = TestLog::with(10);
    let mut cursor = cursor();
    let mut replica = Cursor::restore(&cursor.drain().unwrap()).unwrap();
    let deltas: Vec<_> = [[1, 2], [0, 5], [3, 4]]
        .into_iter()
        .map(|entries| {
            entries.into_iter().for_each(|entry| _ = cursor.ack(at(entry), &log));
            cursor.ack_batch(at(8), &[1 << entries[0]], 10, &log);
            cursor.drain().unwrap()
        })
        .collect();
    for delta in deltas.iter().chain(&deltas[..2]) {
        replica.apply(delta).unwrap();
    }
    assert_eq!(replica.state, cursor.state);
    assert_eq!((replica.mark_delete(), replica.is_acked(at(8))), (at(5), true));
}

#[test]
fn damaged_records_are_refused_and_change_nothing() {
    let log = TestLog::with(9);
    let mut cursor = cursor();
    cursor.ack(at(4), &log);
    cursor.ack_batch(at(6), &[1], 2, &log);
    let snapshot = cursor.snapshot();
    let before = cursor.state.clone();
    for length in 0..snapshot.len() {
        assert!(cursor.apply(&snapshot[..length]).is_err(), "{length} bytes");
    }
    assert!(cursor.apply(&[snapshot.clone(), vec![0]].concat()).is_err());
    assert_eq!(cursor.apply(&[7, 0]), Err(Error::Version(7)));
    assert_eq!(cursor.apply(&[1, 2]), Err(Error::Damaged("kind")));
    for byte in 0..snapshot.len() {
        let mut flipped = snapshot.clone();
        flipped[byte] ^= 0x55;
        _ = Cursor::restore(&flipped);
    }
    assert_eq!(cursor.state, before);
    cursor.drain();
    cursor.ack(at(5), &log);
    assert_eq!(Cursor::restore(&cursor.drain().unwrap()).err(), Some(Error::NotASnapshot));
}

#[test]
fn entries_beyond_32_bits_are_entries_too() {
    let mut holes = Holes::default();
    let border = 1i64 << 32;
    for entry in border - 2..border + 2 {
        assert!(holes.insert(at(entry)));
    }
    assert_eq!(holes.first_absent(at(border - 2)), at(border + 2));
    assert_eq!(holes.runs().collect::<Vec<_>>(), [(at(border - 2), at(border + 1))]);
    holes.remove_up_to(at(border));
    assert_eq!((holes.len(), holes.contains(at(border + 1))), (1, true));
    holes.remove_up_to(Position::new(4, -1));
    assert!(holes.is_empty());
}
