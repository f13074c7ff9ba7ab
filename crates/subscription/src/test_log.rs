//! A log for tests, kept as the plain set of its entries.

use std::collections::BTreeSet;

use crate::{Layout, Position};

pub(crate) struct TestLog {
    entries: BTreeSet<Position>,
    next: Position,
    last: Position,
}

impl TestLog {
    pub(crate) fn new() -> Self {
        Self { entries: BTreeSet::new(), next: Position::new(3, 0), last: Position::new(3, -1) }
    }

    /// A log of one ledger, number 3, with `count` entries.
    pub(crate) fn with(count: usize) -> Self {
        let mut log = Self::new();
        (0..count).for_each(|_| _ = log.append());
        log
    }

    pub(crate) fn append(&mut self) -> Position {
        let position = self.next;
        self.entries.insert(position);
        self.last = position;
        self.next = position.after();
        position
    }

    /// Opens a new ledger.
    pub(crate) fn roll(&mut self, skipped: i64) {
        self.next = Position::new(self.next.ledger + 1 + skipped, 0);
    }

    /// Removes the ledgers before `ledger`, but never the open one.
    pub(crate) fn trim(&mut self, ledger: i64) {
        let first = Position::new(ledger.min(self.next.ledger), 0);
        self.entries = self.entries.split_off(&first);
    }

    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = Position> {
        self.entries.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Layout for TestLog {
    fn first(&self) -> Position {
        self.entries.first().copied().unwrap_or(self.next)
    }

    fn last(&self) -> Position {
        self.last
    }

    fn ceiling(&self, from: Position) -> Option<Position> {
        self.entries.range(from..).next().copied()
    }

    fn floor(&self, up_to: Position) -> Option<Position> {
        self.entries.range(..=up_to).next_back().copied()
    }

    fn count(&self, from: Position, up_to: Position) -> u64 {
        if from > up_to { 0 } else { self.entries.range(from..=up_to).count() as u64 }
    }
}
