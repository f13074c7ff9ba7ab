//! When an unload or a split that somebody waits for is over.

use super::ServiceUnitRecord;
use super::ServiceUnitState::{Assigning, Deleted, Free, Init, Owned, Releasing, Splitting};

/// What an event means to a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not over yet.
    Pending,
    /// Over.
    Done,
    /// Over, without success.
    Failed,
}

/// What the arrival of `record` (or of a tombstone) means to one who waits for an unload. `failed` says that this
/// broker's own step for the record failed.
#[must_use]
pub fn unload_progress(record: Option<&ServiceUnitRecord>, failed: bool) -> Progress {
    // A record of a first assignment belongs to no unload.
    let first_assignment = record.is_some_and(|r| matches!(r.state, Owned | Assigning) && r.source().is_none());
    if first_assignment {
        return Progress::Pending;
    }
    if failed {
        return Progress::Failed;
    }
    match record.map_or(Init, |r| r.state) {
        Init | Owned => Progress::Done,
        Free if record.is_none_or(|r| !r.force) => Progress::Done,
        Free | Assigning | Releasing | Splitting | Deleted => Progress::Pending,
    }
}

/// What the arrival of `record` (or of a tombstone) means to one who waits for a split: it is over when the parent is
/// gone.
#[must_use]
pub fn split_progress(record: Option<&ServiceUnitRecord>, failed: bool) -> Progress {
    match record.map_or(Init, |r| r.state) {
        _ if failed => Progress::Failed,
        Init => Progress::Done,
        _ => Progress::Pending,
    }
}
