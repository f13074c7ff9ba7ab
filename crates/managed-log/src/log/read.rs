//! Reading across ledgers.

use bytes::Bytes;
use plerion_ledger::{LedgerId, ReadError};
use plerion_subscription::{Layout, Position};

use super::{Inner, ManagedLog};
use crate::ReadFailure;

/// An entry of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Where it is.
    pub position: Position,
    /// The entry as it was appended; shares the memory it was written or read in.
    pub bytes: Bytes,
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadStatus {
    /// Everything asked for that is confirmed was given.
    Complete,
    /// A limit was reached, or the entry at `next` needs a read of its own.
    Limited {
        /// Where to go on.
        next: Position,
    },
    /// The entry at `next` is not in memory: use [`ManagedLog::read`].
    Miss {
        /// Where to go on.
        next: Position,
    },
}

/// The result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The entries, in order.
    pub entries: Vec<LogEntry>,
    /// [`ReadStatus::Complete`] or [`ReadStatus::Limited`].
    pub status: ReadStatus,
}

/// Some entries of one ledger.
struct Part {
    ledger: LedgerId,
    first: u64,
    last: u64,
}

impl ManagedLog {
    /// Adds to `out` what is in memory of the entries from `from` to `to`, both included, in order and without a gap,
    /// up to `max_entries` and about `max_bytes`, but at least one entry if the first is in memory and `max_entries`
    /// is not 0. Neither position needs to be that of an entry, and entries that are not confirmed do not exist.
    pub fn read_cached(
        &self,
        from: Position,
        to: Position,
        max_entries: usize,
        max_bytes: usize,
        out: &mut Vec<LogEntry>,
    ) -> ReadStatus {
        let inner = &self.inner;
        let mut entries = inner.scratch.take();
        let mut budget = Budget { entries: max_entries, bytes: max_bytes, taken: false };
        let mut from = from;
        let status = loop {
            let Some((next, part)) = inner.part(from, to, budget.entries) else { break ReadStatus::Complete };
            if budget.is_spent() {
                break ReadStatus::Limited { next };
            }
            if inner.context.store.read_cached(part.ledger, part.first, part.last, budget.bytes, &mut entries) == 0 {
                break ReadStatus::Miss { next };
            }
            from = take(part.ledger, &mut entries, &mut budget, out).unwrap_or(next);
        };
        inner.scratch.replace(entries);
        status
    }

    /// Reads the entries from `from` to `to`, both included, in order and without a gap, up to `max_entries` and about
    /// `max_bytes`, but at least one if there is one. Cancelling it has no effect.
    ///
    /// # Errors
    /// [`ReadFailure`] if the first entry cannot be read, naming it. With
    /// [`Config::skip_unreadable`](crate::Config::skip_unreadable) entries that are lost are passed over.
    pub async fn read(
        &self,
        from: Position,
        to: Position,
        max_entries: usize,
        max_bytes: usize,
    ) -> Result<Reading, ReadFailure> {
        let inner = &self.inner;
        let mut reading = Reading { entries: Vec::new(), status: ReadStatus::Complete };
        let mut budget = Budget { entries: max_entries, bytes: max_bytes, taken: false };
        let mut from = from;
        while let Some((next, part)) = inner.part(from, to, budget.entries) {
            if budget.is_spent() {
                reading.status = ReadStatus::Limited { next };
                break;
            }
            match inner.read_part(&part, budget.bytes).await {
                Ok(mut entries) => {
                    from = take(part.ledger, &mut entries, &mut budget, &mut reading.entries).unwrap_or(next);
                }
                // Trimmed meanwhile.
                Err(_) if !inner.spans.borrow().contains(next) => {}
                Err(cause) => {
                    let failure = ReadFailure { position: next, resume: resume(next, &cause), cause };
                    if !failure.is_retryable() && inner.context.config.skip_unreadable {
                        inner.skip(&failure);
                        from = failure.resume;
                    } else if reading.entries.is_empty() {
                        return Err(failure);
                    } else {
                        reading.status = ReadStatus::Limited { next };
                        break;
                    }
                }
            }
        }
        Ok(reading)
    }
}

impl Inner {
    /// The first confirmed entry at or after `from` and not after `to`, and the entries of its ledger that may be
    /// read with it.
    fn part(&self, from: Position, to: Position, max_entries: usize) -> Option<(Position, Part)> {
        let spans = self.spans.borrow();
        let next = spans.ceiling(from).filter(|next| *next <= to)?;
        let run = spans.run_from(next.ledger)?;
        let last = if run.ledger < to.ledger { run.last().entry } else { run.last().entry.min(to.entry) };
        let first = next.entry.cast_unsigned();
        let limit = first.saturating_add((max_entries as u64).saturating_sub(1));
        let last = last.cast_unsigned().min(limit);
        Some((next, Part { ledger: LedgerId(next.ledger.cast_unsigned()), first, last }))
    }

    async fn read_part(&self, part: &Part, max_bytes: usize) -> Result<Vec<plerion_ledger::Entry>, ReadError> {
        let store = &self.context.store;
        match store.read(part.ledger, part.first, part.last, max_bytes).await {
            Err(ReadError::Corrupt { entry, .. } | ReadError::NoEntry { entry, .. })
                if entry > part.first && entry <= part.last =>
            {
                store.read(part.ledger, part.first, entry - 1, max_bytes).await
            }
            outcome => outcome,
        }
    }

    fn skip(&self, failure: &ReadFailure) {
        let count =
            self.spans.borrow().count(failure.position, Position { entry: failure.resume.entry - 1, ..failure.resume });
        self.skipped.set(self.skipped.get() + count);
        tracing::error!(log = %self.path, error = %failure, entries = count, "passing over lost entries");
    }
}

/// What a read may still take.
struct Budget {
    entries: usize,
    bytes: usize,
    taken: bool,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.entries == 0 || (self.taken && self.bytes == 0)
    }
}

/// Moves entries to `out` and gives the position after the last.
fn take(
    ledger: LedgerId,
    entries: &mut Vec<plerion_ledger::Entry>,
    budget: &mut Budget,
    out: &mut Vec<LogEntry>,
) -> Option<Position> {
    let mut next = None;
    for plerion_ledger::Entry { id, bytes } in entries.drain(..) {
        budget.entries = budget.entries.saturating_sub(1);
        budget.bytes = budget.bytes.saturating_sub(bytes.len());
        budget.taken = true;
        let position = Position::new(ledger.0.cast_signed(), id.cast_signed());
        next = Some(Position::new(position.ledger, position.entry + 1));
        out.push(LogEntry { position, bytes });
    }
    next
}

/// Where to go on after an entry that cannot be read.
fn resume(position: Position, cause: &ReadError) -> Position {
    match cause {
        ReadError::NoLedger(_) => Position::new(position.ledger + 1, 0),
        _ => Position::new(position.ledger, position.entry + 1),
    }
}
