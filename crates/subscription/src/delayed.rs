//! Entries that are not to be delivered yet.

use std::collections::BTreeSet;

use crate::Position;

/// How exact delayed delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether delays are honoured at all.
    pub enabled: bool,
    /// How much too early an entry may be delivered when not strict, in milliseconds.
    pub tick_ms: u64,
    /// Whether no entry may be early.
    pub strict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enabled: true, tick_ms: 1000, strict: false }
    }
}

impl Settings {
    /// Whether an entry to be delivered at `deliver_at` has to wait at `now_ms` (both milliseconds of the epoch).
    pub fn must_wait(&self, deliver_at: u64, now_ms: u64) -> bool {
        self.enabled && deliver_at > self.horizon(now_ms)
    }

    /// Entries of up to this time are due.
    fn horizon(&self, now_ms: u64) -> u64 {
        if self.strict { now_ms } else { now_ms.saturating_add(self.tick_ms) }
    }
}

/// The waiting entries of a subscription, ordered by due time, then position. `T` is what is remembered of each.
#[derive(Clone, Debug, Default)]
pub struct Delayed<T> {
    waiting: BTreeSet<(u64, Position, T)>,
}

impl<T: Copy + Ord> Delayed<T> {
    /// An empty set.
    pub fn new() -> Self {
        Self { waiting: BTreeSet::new() }
    }

    /// How many entries wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sets an entry aside until `deliver_at`, milliseconds of the epoch.
    pub fn insert(&mut self, deliver_at: u64, position: Position, note: T) {
        self.waiting.insert((deliver_at, position, note));
    }

    /// Takes the entry that is due first, if it is due at `now_ms`.
    pub fn pop_due(&mut self, now_ms: u64, settings: &Settings) -> Option<(Position, T)> {
        let (deliver_at, ..) = *self.waiting.first()?;
        if settings.must_wait(deliver_at, now_ms) {
            return None;
        }
        self.waiting.pop_first().map(|(_, position, note)| (position, note))
    }

    /// When the next entry is due, in milliseconds of the epoch.
    pub fn next_due(&self, settings: &Settings) -> Option<u64> {
        let (deliver_at, ..) = *self.waiting.first()?;
        let early = if settings.strict { 0 } else { settings.tick_ms };
        Some(if settings.enabled { deliver_at.saturating_sub(early) } else { 0 })
    }

    /// Keeps only the entries for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(Position) -> bool) {
        self.waiting.retain(|(_, position, _)| keep(*position));
    }

    /// The waiting entries, the next due first.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        self.waiting.iter().map(|(_, position, _)| *position)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}
