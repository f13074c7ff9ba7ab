//! The index of a segment that is written to.

use super::super::id_hash::IdMap;
use super::super::record;
use super::{Place, Summary};
use crate::{Closed, Epoch};

/// What a segment holds, by ledger.
#[derive(Debug, Default)]
pub(crate) struct MemoryIndex {
    pub(crate) rows: IdMap<Row>,
    /// Ledgers with a deletion record in this segment.
    pub(crate) deletes: Vec<u64>,
}

/// One ledger's part of a segment.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// Whether the ledger was made in this segment.
    pub(crate) created: bool,
    pub(crate) epoch: Epoch,
    pub(crate) sealed: Option<Closed>,
    pub(crate) first: u64,
    pub(crate) places: Vec<Place>,
    pub(crate) bytes: u64,
}

impl MemoryIndex {
    pub(crate) fn row(&mut self, ledger: u64) -> &mut Row {
        self.rows.entry(ledger).or_default()
    }

    pub(crate) fn summary(&self, ledger: u64) -> Option<Summary> {
        self.rows.get(&ledger).map(|row| row.summary(ledger))
    }

    /// Takes back the last entry of a ledger, and the row when nothing is left in it.
    pub(crate) fn retract(&mut self, ledger: u64) {
        if let Some(row) = self.rows.get_mut(&ledger) {
            row.pop();
        }
        self.forget_empty(ledger);
    }

    /// Drops the row of a ledger of which this segment holds nothing.
    pub(crate) fn forget_empty(&mut self, ledger: u64) {
        if self.rows.get(&ledger).is_some_and(|row| row.places.is_empty() && row.sealed.is_none() && !row.created) {
            self.rows.remove(&ledger);
        }
    }
}

impl Row {
    /// Adds an entry. Entries between the last one and this one are lost; one that is there already is ignored.
    pub(crate) fn push(&mut self, entry: u64, place: Place) {
        if self.places.is_empty() {
            self.first = entry;
        }
        let Some(index) = entry.checked_sub(self.first).and_then(|index| usize::try_from(index).ok()) else { return };
        if let Some(known) = self.places.get_mut(index) {
            // Where there are two copies, one may be sound.
            if known.is_lost() {
                *known = place;
                self.bytes += place.body_length();
            }
            return;
        }
        // A gap as wide as a segment has bytes is no gap, but a number that is wrong.
        if index - self.places.len() > u32::MAX as usize / record::HEADER {
            return;
        }
        self.places.resize(index, Place::LOST);
        self.places.push(place);
        self.bytes += place.body_length();
    }

    pub(crate) fn pop(&mut self) {
        if let Some(place) = self.places.pop() {
            self.bytes -= place.body_length();
        }
    }

    pub(crate) fn summary(&self, ledger: u64) -> Summary {
        Summary {
            ledger,
            epoch: self.epoch,
            sealed: self.sealed,
            first: self.first,
            count: u32::try_from(self.places.len()).unwrap_or(u32::MAX),
            bytes: self.bytes,
        }
    }
}
