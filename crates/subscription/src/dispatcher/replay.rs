//! Entries that were read and wait to be read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::FixedState;

use super::consumer::SlotId;
use crate::Position;

/// Who can take an entry: a certain consumer, or `None` for anyone (Shared) or no one yet (Key_Shared).
pub(super) type Lane = Option<SlotId>;

/// A waiting entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) redeliveries: u32,
    /// Entries of one hash leave in order; 0 for no order. Of Key_Shared also what routes it.
    pub(super) hash: u16,
    pub(super) lane: Lane,
}

/// The waiting entries of a subscription, by position, by lane and by hash.
#[derive(Debug, Default)]
pub(super) struct Replay {
    entries: BTreeMap<Position, Waiting>,
    lanes: BTreeMap<Lane, BTreeSet<Position>>,
    hashes: HashMap<u16, BTreeSet<Position>, FixedState>,
}

impl Replay {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, position: Position) -> Option<Waiting> {
        self.entries.get(&position).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Position, Waiting)> {
        self.entries.iter().map(|(position, waiting)| (*position, *waiting))
    }

    /// Adds an entry, or puts one that waits already into another lane.
    pub(super) fn insert(&mut self, position: Position, waiting: Waiting) {
        if let Some(old) = self.entries.insert(position, waiting) {
            self.leave_lane(position, old.lane);
        } else if waiting.hash != 0 {
            self.hashes.entry(waiting.hash).or_default().insert(position);
        }
        self.lanes.entry(waiting.lane).or_default().insert(position);
    }

    pub(super) fn remove(&mut self, position: Position) -> Option<Waiting> {
        let waiting = self.entries.remove(&position)?;
        self.leave_lane(position, waiting.lane);
        if waiting.hash != 0
            && let Some(positions) = self.hashes.get_mut(&waiting.hash)
        {
            positions.remove(&position);
            if positions.is_empty() {
                self.hashes.remove(&waiting.hash);
            }
        }
        Some(waiting)
    }

    /// The entries of a lane, ascending.
    pub(super) fn lane(&self, lane: Lane) -> impl Iterator<Item = Position> {
        self.lanes.get(&lane).into_iter().flatten().copied()
    }

    /// Whether an earlier entry of the same hash waits.
    pub(super) fn is_behind(&self, position: Position, hash: u16) -> bool {
        self.hashes.get(&hash).and_then(BTreeSet::first).is_some_and(|first| *first < position)
    }

    /// Gives every entry the lane that `lane` says.
    pub(super) fn relane(&mut self, lane: impl Fn(Waiting) -> Lane) {
        self.lanes.clear();
        for (position, waiting) in &mut self.entries {
            waiting.lane = lane(*waiting);
            self.lanes.entry(waiting.lane).or_default().insert(*position);
        }
    }

    /// Puts the entries of a hash into the lane of anyone.
    pub(super) fn free(&mut self, hash: u16) {
        let positions: Vec<_> = self.hashes.get(&hash).into_iter().flatten().copied().collect();
        for position in positions {
            if let Some(waiting) = self.get(position) {
                self.insert(position, Waiting { lane: None, ..waiting });
            }
        }
    }

    fn leave_lane(&mut self, position: Position, lane: Lane) {
        if let Some(positions) = self.lanes.get_mut(&lane) {
            positions.remove(&position);
            if positions.is_empty() {
                self.lanes.remove(&lane);
            }
        }
    }
}
