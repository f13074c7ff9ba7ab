//! What a dispatcher tells of itself.

use super::consumer::SlotId;
use super::shared::Shared;
use super::{ConsumerKey, Dispatcher, Mode};
use crate::Position;
use crate::selector::{DrainingHash, Range};

/// What a dispatcher tells of a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// The session.
    pub key: ConsumerKey,
    /// Messages it may be sent; negative after a batch larger than what was left.
    pub permits: i64,
    /// Messages it has and has not acknowledged; 0 for Exclusive and Failover, where nobody counts.
    pub unacked: u64,
    /// Entries it has and has not acknowledged, likewise.
    pub pending: u64,
    /// Whether it is not served because it has too many unacknowledged messages.
    pub blocked: bool,
    /// Whether its connection takes messages.
    pub writable: bool,
    /// Whether it is served at all; of a Failover subscription only one is.
    pub active: bool,
    /// The greatest epoch heard from it.
    pub epoch: u64,
}

impl Dispatcher {
    /// The place from which new entries are read; [`Position::EARLIEST`] right after a rewind.
    pub fn read_position(&self) -> Position {
        self.core.read_position
    }

    /// Whether a read is out.
    pub fn is_reading(&self) -> bool {
        self.core.lease.is_out()
    }

    /// Whether a consumer is connected. Acknowledgements of others are those of former sessions and void.
    pub fn has_consumer(&self, key: ConsumerKey) -> bool {
        self.core.consumers.id(key).is_some()
    }

    /// How many consumers are connected.
    pub fn consumer_count(&self) -> usize {
        self.core.consumers.len()
    }

    /// The consumer that is served alone, of Exclusive and Failover.
    pub fn active_consumer(&self) -> Option<ConsumerKey> {
        match &self.mode {
            Mode::Single(single) => Some(self.core.consumers.get(single.active()?)?.consumer.key),
            Mode::Shared(_) => None,
        }
    }

    /// The figures of one consumer.
    pub fn consumer(&self, key: ConsumerKey) -> Option<Stats> {
        self.core.consumers.id(key).and_then(|id| self.stats(id))
    }

    /// The figures of all consumers, the most preferred first.
    pub fn consumers(&self) -> impl Iterator<Item = Stats> {
        self.core.consumers.order().iter().filter_map(|&id| self.stats(id))
    }

    fn stats(&self, id: SlotId) -> Option<Stats> {
        let slot = self.core.consumers.get(id)?;
        Some(Stats {
            key: slot.consumer.key,
            permits: slot.permits,
            unacked: slot.unacked,
            pending: slot.pending,
            blocked: slot.blocked,
            writable: slot.writable,
            active: match &self.mode {
                Mode::Single(single) => single.active() == Some(id),
                Mode::Shared(_) => true,
            },
            epoch: slot.consumer.epoch,
        })
    }

    /// Unacknowledged messages at all consumers (shared kinds).
    pub fn unacked(&self) -> u64 {
        self.shared().map_or(0, Shared::unacked)
    }

    /// Whether nobody is served because there are too many unacknowledged messages.
    pub fn is_blocked(&self) -> bool {
        self.shared().is_some_and(Shared::is_blocked)
    }

    /// Entries read before that wait to be read again.
    pub fn replay_len(&self) -> usize {
        self.shared().map_or(0, Shared::replay_len)
    }

    /// Entries that wait for their time.
    pub fn delayed_len(&self) -> usize {
        self.shared().map_or(0, Shared::delayed_len)
    }

    /// The consumer an entry is pending at (shared kinds).
    pub fn holder(&self, position: Position) -> Option<ConsumerKey> {
        let slot = self.shared()?.holder(position)?;
        Some(self.core.consumers.get(slot)?.consumer.key)
    }

    /// How often an entry in flight was asked for again.
    pub fn redelivery_count(&self, position: Position) -> u32 {
        self.shared().map_or(0, |shared| shared.redelivery_count(position))
    }

    /// The hashes each consumer owns (Key_Shared), ascending.
    pub fn key_ranges(&self) -> Vec<(ConsumerKey, Range)> {
        let ranges = self.shared().map(Shared::ranges).unwrap_or_default();
        ranges
            .into_iter()
            .filter_map(|range| Some((self.core.consumers.get(range.owner)?.consumer.key, range)))
            .collect()
    }

    /// The hashes that wait for a former owner (Key_Shared), in no order.
    pub fn draining_hashes(&self) -> Vec<(ConsumerKey, DrainingHash)> {
        let hashes = self.shared().map(Shared::draining).unwrap_or_default();
        hashes.into_iter().filter_map(|hash| Some((self.core.consumers.get(hash.owner)?.consumer.key, hash))).collect()
    }

    fn shared(&self) -> Option<&Shared> {
        match &self.mode {
            Mode::Single(_) => None,
            Mode::Shared(shared) => Some(shared),
        }
    }
}
