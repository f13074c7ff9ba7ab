//! Where an entry is in a topic.

use std::fmt;

/// The place of an entry in a topic's log: the ledger and the entry's number in it.
///
/// Both are signed as in Pulsar: entry −1 is the place before a ledger's first entry. Positions of one topic are
/// totally ordered, by ledger, then by entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The ledger's number; ledgers of one topic have increasing numbers.
    pub ledger: i64,
    /// The entry's number, dense from 0 in each ledger.
    pub entry: i64,
}

impl Position {
    /// Before every entry, as clients write it.
    pub const EARLIEST: Self = Self { ledger: -1, entry: -1 };
    /// After every entry, as clients write it.
    pub const LATEST: Self = Self { ledger: i64::MAX, entry: i64::MAX };

    /// The position of entry `entry` of ledger `ledger`.
    pub const fn new(ledger: i64, entry: i64) -> Self {
        Self { ledger, entry }
    }

    /// The place right after this one in the same ledger; whether an entry is there, the log knows.
    #[must_use]
    pub const fn after(self) -> Self {
        Self { ledger: self.ledger, entry: self.entry.saturating_add(1) }
    }

    /// The place right before this one in the same ledger, −1 before its first entry.
    #[must_use]
    pub const fn before(self) -> Self {
        Self { ledger: self.ledger, entry: self.entry.saturating_sub(1) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ledger, self.entry)
    }
}
