//! Which positions of a topic hold entries.

use plerion_subscription::{Layout, Position};

/// The confirmed entries of a topic, as runs of entries from 0 in ascending ledgers.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    /// Runs without an entry occur only at the end, for a ledger that was just made.
    runs: Vec<Run>,
    /// The last entry that was there and is not any more, or [`Position::EARLIEST`].
    floor: Position,
}

/// The entries `0..entries` of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) ledger: i64,
    pub(crate) entries: u64,
    /// How many entries the runs before this one had, deleted ones included.
    before: u64,
}

impl Run {
    pub(crate) fn first(&self) -> Position {
        Position::new(self.ledger, 0)
    }

    pub(crate) fn last(&self) -> Position {
        Position::new(self.ledger, self.entries.cast_signed() - 1)
    }

    fn end(&self) -> u64 {
        self.before + self.entries
    }
}

impl Spans {
    pub(crate) fn new(floor: Option<Position>) -> Self {
        Self { runs: Vec::new(), floor: floor.unwrap_or(Position::EARLIEST) }
    }

    /// Adds a ledger after all others.
    pub(crate) fn push(&mut self, ledger: i64, entries: u64) {
        debug_assert!(self.runs.last().is_none_or(|run| run.ledger < ledger), "ledgers ascend");
        self.drop_empty_last();
        let before = self.runs.last().map_or(0, Run::end);
        self.runs.push(Run { ledger, entries, before });
    }

    /// Sets the number of entries of the last ledger.
    pub(crate) fn grow(&mut self, entries: u64) {
        if let Some(run) = self.runs.last_mut() {
            run.entries = entries;
        }
    }

    pub(crate) fn drop_empty_last(&mut self) {
        self.runs.pop_if(|run| run.entries == 0);
    }

    /// Removes the ledgers up to `ledger`.
    pub(crate) fn remove_to(&mut self, ledger: i64) {
        let count = self.runs.partition_point(|run| run.ledger <= ledger);
        if let Some(last) = self.runs[..count].iter().rev().find(|run| run.entries > 0) {
            self.floor = last.last();
        }
        self.runs.drain(..count);
    }

    /// The first entry after `position`.
    pub(crate) fn next(&self, position: Position) -> Option<Position> {
        self.at(self.rank(position))
    }

    /// The last entry before `position`.
    pub(crate) fn previous(&self, position: Position) -> Option<Position> {
        self.rank_before(position).checked_sub(1).and_then(|rank| self.at(rank))
    }

    /// The `count`th entry after `from`, or the last one; `from` itself if there is none after it.
    pub(crate) fn after_n(&self, from: Position, count: u64) -> Position {
        let (rank, end) = (self.rank(from), self.runs.last().map_or(0, Run::end));
        let target = rank.saturating_add(count).min(end);
        if target <= rank { from } else { self.at(target - 1).unwrap_or(from) }
    }

    /// The entries of `ledger`, or of the next one that has any.
    pub(crate) fn run_from(&self, ledger: i64) -> Option<Run> {
        let at = self.runs.partition_point(|run| run.ledger < ledger);
        self.runs[at..].iter().find(|run| run.entries > 0).copied()
    }

    pub(crate) fn len(&self) -> u64 {
        self.runs.last().map_or(0, Run::end) - self.runs.first().map_or(0, |run| run.before)
    }

    fn rank_before(&self, position: Position) -> u64 {
        self.rank(Position::new(position.ledger, position.entry.saturating_sub(1)))
    }

    /// How many entries, deleted ones included, are at or before `position`.
    fn rank(&self, position: Position) -> u64 {
        match self.runs.partition_point(|run| run.ledger <= position.ledger).checked_sub(1) {
            None => self.runs.first().map_or(0, |run| run.before),
            Some(at) => {
                let run = &self.runs[at];
                let taken = if position.ledger > run.ledger {
                    run.entries
                } else {
                    u64::try_from(position.entry.saturating_add(1)).unwrap_or(0).min(run.entries)
                };
                run.before + taken
            }
        }
    }

    /// The entry of rank `rank + 1`.
    fn at(&self, rank: u64) -> Option<Position> {
        let at = self.runs.partition_point(|run| run.end() <= rank);
        let run = self.runs.get(at)?;
        let entry = rank.checked_sub(run.before)?;
        Some(Position::new(run.ledger, entry.cast_signed()))
    }
}

impl Layout for Spans {
    fn first(&self) -> Position {
        match self.runs.first() {
            Some(run) => run.first(),
            None => Position::new(self.floor.ledger, self.floor.entry + 1),
        }
    }

    fn last(&self) -> Position {
        self.runs.iter().rev().find(|run| run.entries > 0).map_or(self.floor, Run::last)
    }

    fn ceiling(&self, from: Position) -> Option<Position> {
        self.at(self.rank_before(from))
    }

    fn floor(&self, up_to: Position) -> Option<Position> {
        self.rank(up_to).checked_sub(1).and_then(|rank| self.at(rank))
    }

    fn count(&self, from: Position, up_to: Position) -> u64 {
        self.rank(up_to).saturating_sub(self.rank_before(from))
    }

    fn contains(&self, position: Position) -> bool {
        let run = self.runs.binary_search_by_key(&position.ledger, |run| run.ledger).map(|at| self.runs[at]);
        run.is_ok_and(|run| (0..run.entries.cast_signed()).contains(&position.entry))
    }
}

#[cfg(test)]
mod tests;
