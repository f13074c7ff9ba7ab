//! The acknowledgement state of one subscription.

mod batch;
mod codec;
mod holes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use codec::Error;

use crate::{Layout, Position};
use batch::Remaining;
use holes::Holes;

/// What an acknowledgement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acked {
    /// The entry is acknowledged now and was not before.
    Whole,
    /// Part of the batch is acknowledged; this many messages of it are left.
    Partly {
        /// Messages that are still unacknowledged; at least 1.
        remaining: u32,
    },
    /// Nothing changed: acknowledged before, or not an entry of the log.
    Unchanged,
}

/// Which entries, and which messages of partly acknowledged batches, a subscription has acknowledged.
///
/// Everything up to the *mark-delete position* is acknowledged; after it single entries are. The state says nothing
/// of the log: what exists is asked of a [`Layout`] at each step. Changes can be drained as deltas; deltas applied in
/// order to any state on their way (a snapshot taken meanwhile) end in the same state.
#[derive(Clone, Debug)]
pub struct Cursor {
    state: State,
    unsaved: Unsaved,
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    mark_delete: Position,
    holes: Holes,
    batches: BTreeMap<Position, Remaining>,
}

/// What changed since the last drain.
#[derive(Clone, Debug, Default)]
struct Unsaved {
    /// The state is new as a whole; single changes do not matter then.
    replaced: bool,
    mark_delete: bool,
    holes: Holes,
    batches: BTreeSet<Position>,
}

impl Cursor {
    /// A cursor for which everything up to `mark_delete`, and nothing after it, is acknowledged. Until it is drained
    /// first it keeps no record of changes, so one that is never saved costs nothing more.
    pub fn new(mark_delete: Position) -> Self {
        let state = State { mark_delete, holes: Holes::default(), batches: BTreeMap::new() };
        Self { state, unsaved: Unsaved { replaced: true, ..Unsaved::default() } }
    }

    /// The position up to which everything is acknowledged.
    pub fn mark_delete(&self) -> Position {
        self.state.mark_delete
    }

    /// Whether the entry at `position` is acknowledged as a whole.
    pub fn is_acked(&self, position: Position) -> bool {
        position <= self.state.mark_delete || self.state.holes.contains(position)
    }

    /// The unacknowledged messages of the batch at `position` as words of an `ack_set` (1 = left); `None` if the
    /// entry is acknowledged either not at all or as a whole.
    pub fn remaining(&self, position: Position) -> Option<Vec<i64>> {
        let batch = self.state.batches.get(&position)?;
        Some(batch.words().iter().map(|&word| word as i64).collect())
    }

    /// How many messages of an entry of `messages` messages are unacknowledged.
    pub fn remaining_count(&self, position: Position, messages: u32) -> u32 {
        if self.is_acked(position) {
            return 0;
        }
        if self.state.batches.is_empty() {
            return messages;
        }
        self.state.batches.get(&position).map_or(messages, |batch| batch.count().min(messages))
    }

    /// Acknowledges the entry at `position`.
    pub fn ack(&mut self, position: Position, layout: &dyn Layout) -> Acked {
        if self.is_acked(position) || !layout.contains(position) {
            return Acked::Unchanged;
        }
        self.complete(position, layout);
        Acked::Whole
    }

    /// Acknowledges the messages of the batch at `position` whose bits in `ack_set` are 0. `batch_size` is the number
    /// of messages of the batch, 0 if unknown; bits beyond it are ignored. When none is left the entry is acknowledged.
    pub fn ack_batch(&mut self, position: Position, ack_set: &[i64], batch_size: u32, layout: &dyn Layout) -> Acked {
        if self.is_acked(position) || !layout.contains(position) {
            return Acked::Unchanged;
        }
        let left = Remaining::new(ack_set, batch_size);
        let (remaining, changed) = match self.state.batches.get_mut(&position) {
            Some(batch) => {
                let changed = batch.intersect(&left);
                (batch.count(), changed)
            }
            None if batch_size > 0 && left.count() == batch_size => return Acked::Unchanged,
            None => {
                let remaining = left.count();
                if remaining > 0 {
                    self.state.batches.insert(position, left);
                }
                (remaining, true)
            }
        };
        match (remaining, changed) {
            (0, _) => {
                self.complete(position, layout);
                Acked::Whole
            }
            (_, false) => Acked::Unchanged,
            (remaining, true) => {
                if !self.unsaved.replaced {
                    self.unsaved.batches.insert(position);
                }
                Acked::Partly { remaining }
            }
        }
    }

    /// Acknowledges everything up to `position`, included. A position after the last confirmed one is refused: the
    /// cursor stays as it is. True if the mark-delete position moved.
    pub fn ack_cumulative(&mut self, position: Position, layout: &dyn Layout) -> bool {
        if position > layout.last() {
            return false;
        }
        match layout.floor(position) {
            Some(entry) if entry > self.state.mark_delete => {
                self.advance(entry, layout);
                true
            }
            _ => false,
        }
    }

    /// Acknowledges everything before `position`, and of the batch there the messages whose bits in `ack_set` are 0.
    /// Refused like [`Cursor::ack_cumulative`]. True if anything changed.
    pub fn ack_cumulative_batch(
        &mut self,
        position: Position,
        ack_set: &[i64],
        batch_size: u32,
        layout: &dyn Layout,
    ) -> bool {
        if position > layout.last() || position <= self.state.mark_delete {
            return false;
        }
        let moved = self.ack_cumulative(position.before(), layout);
        self.ack_batch(position, ack_set, batch_size, layout) != Acked::Unchanged || moved
    }

    /// Starts anew so that `target` is the first entry left: everything before it is acknowledged, nothing from it
    /// on. Positions before the log mean its first entry, those after the log its end; so the sentinels of clients
    /// work. With an `ack_set` the first entry is the batch at `target` without the messages whose bits are 0.
    pub fn seek(&mut self, target: Position, batch: Option<(&[i64], u32)>, layout: &dyn Layout) {
        let target = target.max(layout.first());
        let mark_delete = match layout.ceiling(target) {
            Some(_) => layout.floor(target.before()).unwrap_or_else(|| target.before()),
            None => layout.last(),
        };
        *self = Self::new(mark_delete);
        if let Some((ack_set, size)) = batch
            && layout.contains(target)
        {
            self.ack_batch(target, ack_set, size, layout);
        }
    }

    /// Counts as acknowledged what the log no longer holds. True if the mark-delete position moved.
    pub fn trim(&mut self, layout: &dyn Layout) -> bool {
        let vanished = layout.first().before();
        if vanished <= self.state.mark_delete {
            return false;
        }
        self.advance(vanished, layout);
        true
    }

    /// The first unacknowledged entry at or after `from`.
    pub fn next_unacked(&self, from: Position, layout: &dyn Layout) -> Option<Position> {
        let mut at = layout.ceiling(from.max(self.state.mark_delete.after()))?;
        while !self.state.holes.is_empty() {
            let absent = self.state.holes.first_absent(at);
            if absent == at {
                break;
            }
            at = layout.ceiling(absent)?;
        }
        Some(at)
    }

    /// How many entries of the log are unacknowledged.
    pub fn backlog(&self, layout: &dyn Layout) -> u64 {
        let after = layout.count(self.state.mark_delete.after(), layout.last());
        after.saturating_sub(self.state.holes.len())
    }

    /// How many entries after the mark-delete position are acknowledged.
    pub fn acked_after_mark_delete(&self) -> u64 {
        self.state.holes.len()
    }

    /// The runs of acknowledged entries after the mark-delete position, ascending, both ends included; a run ends
    /// with its ledger.
    pub fn acked_runs(&self) -> impl Iterator<Item = (Position, Position)> {
        self.state.holes.runs()
    }

    /// Marks the existing, unacknowledged entry at `position` as acknowledged.
    fn complete(&mut self, position: Position, layout: &dyn Layout) {
        if layout.ceiling(self.state.mark_delete.after()) == Some(position) {
            self.advance(position, layout);
            return;
        }
        if !self.state.batches.is_empty() {
            self.state.batches.remove(&position);
        }
        self.state.holes.insert(position);
        if !self.unsaved.replaced {
            self.unsaved.holes.insert(position);
        }
    }

    /// Moves the mark-delete position to `position`, and on over the acknowledged entries that follow.
    fn advance(&mut self, position: Position, layout: &dyn Layout) {
        let mut mark_delete = position;
        while !self.state.holes.is_empty() {
            let Some(next) = layout.ceiling(mark_delete.after()) else { break };
            let absent = self.state.holes.first_absent(next);
            if absent == next {
                break;
            }
            mark_delete = absent.before();
        }
        self.state.raise(mark_delete);
        self.unsaved.mark_delete = true;
    }
}

impl State {
    /// Raises the mark-delete position and drops what it covers.
    fn raise(&mut self, mark_delete: Position) {
        self.mark_delete = mark_delete;
        if !self.holes.is_empty() {
            self.holes.remove_up_to(mark_delete);
        }
        while let Some(first) = self.batches.first_entry().filter(|first| *first.key() <= mark_delete) {
            first.remove();
        }
    }
}
