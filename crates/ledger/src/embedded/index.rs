//! Where a segment's entries are.
//!
//! A segment that is written to has its index in memory; when it takes no more writes the index becomes a file of
//! its own and the memory is freed.

mod file;
mod memory;
mod page;
mod writer;

pub(crate) use file::{IndexFile, OpenError};
pub(crate) use memory::{MemoryIndex, Row};
pub(crate) use page::PageCache;
pub(crate) use writer::{About, encode};

use crate::{Closed, Epoch};

/// Where an entry's record is in its segment, and how long it is with its header. Both are 0 for an entry that was
/// lost to damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

impl Place {
    /// Stands for an entry that was lost.
    pub(crate) const LOST: Self = Self { offset: 0, size: 0 };

    /// How long the entry itself is.
    pub(crate) fn body_length(self) -> u64 {
        u64::from(self.size).saturating_sub(super::record::HEADER as u64)
    }

    pub(crate) fn is_lost(self) -> bool {
        self.size == 0
    }
}

/// What one segment knows of one ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) ledger: u64,
    /// The greatest epoch it was created or sealed with, as far as this segment holds it.
    pub(crate) epoch: Epoch,
    pub(crate) sealed: Option<Closed>,
    /// The entries in this segment: `first..first + count`.
    pub(crate) first: u64,
    pub(crate) count: u32,
    /// The sum of the entries' lengths.
    pub(crate) bytes: u64,
}

#[cfg(test)]
mod tests;
