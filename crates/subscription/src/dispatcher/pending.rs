//! Entries that consumers have and have not acknowledged.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::FixedState;

use super::consumer::{Consumers, SlotId};
use crate::Position;

/// An entry at a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) slot: SlotId,
    /// Unacknowledged messages in it.
    pub(super) messages: u32,
    pub(super) redeliveries: u32,
    /// The hash that routes it; 0 for none.
    pub(super) hash: u16,
}

/// The pending entries of a subscription, each at exactly one consumer.
///
/// The counts kept with the consumers change only together with this set, so they are its size at all times.
#[derive(Debug, Default)]
pub(super) struct Pending {
    entries: HashMap<Position, Held, FixedState>,
    messages: u64,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Unacknowledged messages of all consumers.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    pub(super) fn get(&self, position: Position) -> Option<Held> {
        self.entries.get(&position).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Position, Held)> {
        self.entries.iter().map(|(position, held)| (*position, *held))
    }

    /// Adds an entry; false, and nothing changes, if it is pending already.
    pub(super) fn insert(&mut self, position: Position, held: Held, consumers: &mut Consumers) -> bool {
        let Entry::Vacant(entry) = self.entries.entry(position) else { return false };
        entry.insert(held);
        self.messages += u64::from(held.messages);
        if let Some(slot) = consumers.get_mut(held.slot) {
            slot.unacked += u64::from(held.messages);
            slot.pending += 1;
        }
        true
    }

    pub(super) fn remove(&mut self, position: Position, consumers: &mut Consumers) -> Option<Held> {
        let held = self.entries.remove(&position)?;
        self.messages -= u64::from(held.messages);
        if let Some(slot) = consumers.get_mut(held.slot) {
            slot.unacked -= u64::from(held.messages);
            slot.pending -= 1;
        }
        Some(held)
    }

    /// Notes that only `remaining` messages of an entry are unacknowledged; returns whose it is.
    pub(super) fn shrink(&mut self, position: Position, remaining: u32, consumers: &mut Consumers) -> Option<SlotId> {
        let held = self.entries.get_mut(&position)?;
        let acked = u64::from(held.messages.saturating_sub(remaining));
        held.messages = held.messages.min(remaining);
        self.messages -= acked;
        if let Some(slot) = consumers.get_mut(held.slot) {
            slot.unacked -= acked;
        }
        Some(held.slot)
    }

    /// Forgets every entry.
    pub(super) fn clear(&mut self, consumers: &mut Consumers) {
        for (_, held) in self.entries.drain() {
            if let Some(slot) = consumers.get_mut(held.slot) {
                slot.unacked -= u64::from(held.messages);
                slot.pending -= 1;
            }
        }
        self.messages = 0;
    }

    /// The positions pending at a consumer, ascending.
    pub(super) fn of(&self, slot: SlotId) -> Vec<Position> {
        let mut positions: Vec<_> =
            self.entries.iter().filter_map(|(position, held)| (held.slot == slot).then_some(*position)).collect();
        positions.sort_unstable();
        positions
    }
}
