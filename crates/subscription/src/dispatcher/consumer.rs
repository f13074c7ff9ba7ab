//! The consumers of a subscription.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{Kind, Settings};

/// A consumer session's number, given by the user of a dispatcher and never used again for another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerKey(pub u64);

/// How a Key_Shared consumer wants its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShared {
    /// The ranges of hashes it declares (sticky mode, both ends included); `None` for auto-split.
    pub ranges: Option<Vec<(i32, i32)>>,
    /// Whether order per key may be given up for progress.
    pub allow_out_of_order: bool,
}

impl KeyShared {
    /// The mode's name in Pulsar's texts.
    pub(super) const fn mode(&self) -> &'static str {
        if self.ranges.is_some() { "STICKY" } else { "AUTO_SPLIT" }
    }
}

/// Who wants to join a subscription, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The session.
    pub key: ConsumerKey,
    /// The consumer's name.
    pub name: String,
    /// The type it subscribes with.
    pub kind: Kind,
    /// The lower, the more preferred.
    pub priority: i32,
    /// Whether it subscribes durably.
    pub durable: bool,
    /// Key_Shared meta; without it auto-split in order is meant.
    pub key_shared: Option<KeyShared>,
    /// The consumer epoch it subscribed with.
    pub epoch: u64,
    /// How it is named in refusals of others.
    pub description: String,
}

/// The number of a consumer's slot.
pub(super) type SlotId = u32;

/// A connected consumer.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) consumer: Consumer,
    pub(super) permits: i64,
    pub(super) writable: bool,
    pub(super) blocked: bool,
    /// Messages of the entries pending at it; written by [`super::pending::Pending`] alone.
    pub(super) unacked: u64,
    /// Entries pending at it; written like `unacked`.
    pub(super) pending: u64,
    /// The last status it was told (Failover).
    pub(super) told_active: Option<bool>,
}

impl Slot {
    /// Whether an entry can be sent to it.
    pub(super) const fn has_capacity(&self) -> bool {
        self.permits > 0 && self.writable && !self.blocked
    }
}

/// The connected consumers by slot, and in order of preference.
#[derive(Debug, Default)]
pub(super) struct Consumers {
    slots: Vec<Option<Slot>>,
    by_key: HashMap<ConsumerKey, SlotId, FixedState>,
    /// By priority, then joining.
    order: Vec<SlotId>,
}

impl Consumers {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn id(&self, key: ConsumerKey) -> Option<SlotId> {
        self.by_key.get(&key).copied()
    }

    pub(super) fn get(&self, id: SlotId) -> Option<&Slot> {
        self.slots.get(id as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: SlotId) -> Option<&mut Slot> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    /// The slot ids, most preferred first.
    pub(super) fn order(&self) -> &[SlotId] {
        &self.order
    }

    /// The consumers, most preferred first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SlotId, &Slot)> {
        self.order.iter().filter_map(|&id| Some((id, self.get(id)?)))
    }

    /// The slot that the next consumer will have.
    pub(super) fn vacant(&self) -> SlotId {
        self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len()) as SlotId
    }

    /// Seats a consumer whose key is not in use.
    pub(super) fn insert(&mut self, consumer: Consumer) -> SlotId {
        let id = self.vacant();
        let (key, priority) = (consumer.key, consumer.priority);
        let slot =
            Slot { consumer, permits: 0, writable: true, blocked: false, unacked: 0, pending: 0, told_active: None };
        match self.slots.get_mut(id as usize) {
            Some(vacant) => *vacant = Some(slot),
            None => self.slots.push(Some(slot)),
        }
        let at = self.order.partition_point(|&other| self.get(other).is_some_and(|o| o.consumer.priority <= priority));
        self.order.insert(at, id);
        self.by_key.insert(key, id);
        id
    }

    pub(super) fn remove(&mut self, id: SlotId) -> Option<Slot> {
        let slot = self.slots.get_mut(id as usize)?.take()?;
        self.by_key.remove(&slot.consumer.key);
        self.order.retain(|other| *other != id);
        Some(slot)
    }

    /// The total permits of the consumers that entries can be sent to.
    pub(super) fn open_permits(&self) -> i64 {
        self.iter().filter(|(_, slot)| slot.has_capacity()).map(|(_, slot)| slot.permits).sum()
    }

    /// How many consumers entries can be sent to.
    pub(super) fn open(&self) -> usize {
        self.iter().filter(|(_, slot)| slot.has_capacity()).count()
    }

    /// Applies the limit on unacknowledged messages to a consumer; true if that opened it.
    pub(super) fn update_blocked(&mut self, id: SlotId, settings: &Settings) -> bool {
        let Some(slot) = self.get_mut(id) else { return false };
        let max = settings.consumer_limit();
        let was = slot.blocked;
        slot.blocked =
            Settings::reaches(slot.unacked, max) || (slot.blocked && Settings::stays_blocked(slot.unacked, max));
        was && !slot.blocked
    }
}
