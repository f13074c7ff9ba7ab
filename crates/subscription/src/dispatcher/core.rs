//! What all types of subscriptions have.

use super::ConsumerKey;
use super::Settings;
use super::consumer::{Consumers, Slot, SlotId};
use super::read::Lease;
use crate::Position;

/// The state of a dispatcher that does not depend on the type.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) settings: Settings,
    pub(super) consumers: Consumers,
    pub(super) lease: Lease,
    /// No entry before this one is to be read forward.
    pub(super) read_position: Position,
    pub(super) batch_size: BatchSize,
}

impl Core {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            consumers: Consumers::default(),
            lease: Lease::default(),
            read_position: Position::EARLIEST,
            batch_size: BatchSize(1.0),
        }
    }

    /// Reads again from the mark-delete position; a read that is out will be refused.
    pub(super) fn rewind(&mut self) {
        self.lease.revoke();
        self.read_position = Position::EARLIEST;
    }

    pub(super) fn slot_mut(&mut self, key: ConsumerKey) -> Option<&mut Slot> {
        let id = self.consumers.id(key)?;
        self.consumers.get_mut(id)
    }

    /// Raises a consumer's epoch; false if `epoch` is an old one.
    pub(super) fn raise_epoch(&mut self, id: SlotId, epoch: Option<u64>) -> bool {
        match (self.consumers.get_mut(id), epoch) {
            (Some(slot), Some(epoch)) => {
                let current = epoch >= slot.consumer.epoch;
                slot.consumer.epoch = slot.consumer.epoch.max(epoch);
                current
            }
            (slot, _) => slot.is_some(),
        }
    }

    /// How many entries of a read `permits` permits can use.
    pub(super) fn entries(&self, permits: i64) -> u32 {
        self.batch_size.entries(permits).min(self.settings.max_read_entries.max(1))
    }
}

/// The average number of messages per entry, of which the last ten or so entries count.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchSize(f64);

impl BatchSize {
    pub(super) fn record(&mut self, messages: u32) {
        self.0 += (f64::from(messages) - self.0) * 0.1;
    }

    /// How many entries hold about `permits` messages; at least 1.
    fn entries(self, permits: i64) -> u32 {
        ((permits as f64 / self.0).ceil() as u32).max(1)
    }
}
