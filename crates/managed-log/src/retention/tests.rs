use plerion_ledger::LedgerId;

use super::*;

const MIB: u64 = 1 << 20;

/// Ledgers 1, 2, 3 of 10 entries and 1 MiB, sealed at minutes 1, 2, 3, and the open ledger 4.
fn ledgers() -> Vec<LedgerInfo> {
    let sealed = |id: u64| LedgerInfo { id: LedgerId(id), entries: 10, bytes: MIB, sealed_ms: Some(id * 60_000) };
    vec![sealed(1), sealed(2), sealed(3), LedgerInfo::open(LedgerId(4))]
}

fn at_minute(minute: u64, slowest: Option<Position>, minutes: i64, megabytes: i64) -> usize {
    removable(&ledgers(), slowest, Retention { minutes, megabytes }, 3 * MIB + 500, minute * 60_000)
}

#[test]
fn without_cursors_only_retention_and_the_open_ledger_stay() {
    assert_eq!(at_minute(3, None, 0, 0), 3);
    assert_eq!(at_minute(3, None, -1, -1), 0);
}

#[test]
fn what_a_cursor_has_not_passed_stays() {
    for (mark_delete, removed) in
        [(Position::EARLIEST, 0), (Position::new(1, 8), 0), (Position::new(1, 9), 1), (Position::new(3, 3), 2)]
    {
        assert_eq!(at_minute(3, Some(mark_delete), 0, 0), removed, "{mark_delete}");
    }
}

#[test]
fn either_limit_is_enough() {
    assert_eq!(at_minute(9, None, 7, -1), 1, "older than seven minutes, whatever the size");
    assert_eq!(at_minute(9, None, -1, 2), 2, "until at most 2 MiB are left, whatever the age");
    assert_eq!(at_minute(9, None, 60, 100), 0, "within both");
}
