//! Shared and Key_Shared: several consumers are served.

mod offer;
mod plan;

use super::chunks::Chunks;
use super::consumer::SlotId;
use super::core::Core;
use super::pending::Pending;
use super::replay::{Lane, Replay, Waiting};
use super::turn::Turn;
use super::{Consumer, KeyShared, Refusal, Settings};
use crate::delayed::Delayed;
use crate::selector::{AssignError, Draining, DrainingHash, Exclusive, Range, Ring, Selector, Split};
use crate::{Cursor, Position};

/// Where each entry after the mark-delete position is that was read: pending at a consumer, waiting for one, or for
/// its time.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) keys: Option<Keys>,
    pub(super) pending: Pending,
    pub(super) replay: Replay,
    /// With the hash that routes each entry.
    pub(super) delayed: Delayed<u16>,
    chunks: Chunks,
    turn: Turn,
    blocked: bool,
}

/// How keys find their consumer.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) selector: Selector,
    pub(super) draining: Draining,
    mode: KeyShared,
}

impl Keys {
    /// Whether entries of a key keep their order.
    pub(super) fn ordered(&self) -> bool {
        !self.mode.allow_out_of_order
    }
}

impl Shared {
    pub(super) fn any_order() -> Self {
        Self {
            keys: None,
            pending: Pending::default(),
            replay: Replay::default(),
            delayed: Delayed::new(),
            chunks: Chunks::default(),
            turn: Turn::default(),
            blocked: false,
        }
    }

    pub(super) fn by_key(mode: Option<&KeyShared>, settings: &Settings) -> Self {
        let mode = mode.cloned().unwrap_or(KeyShared { ranges: None, allow_out_of_order: false });
        let selector = match (&mode.ranges, settings.key_shared_ring) {
            (Some(_), _) => Selector::Exclusive(Exclusive::default()),
            (None, true) => Selector::Ring(Ring::new(settings.key_shared_ring_points)),
            (None, false) => Selector::Split(Split::default()),
        };
        Self { keys: Some(Keys { selector, draining: Draining::default(), mode }), ..Self::any_order() }
    }

    /// Whether a newcomer's Key_Shared mode is that of the consumers present.
    pub(super) fn admit(&self, newcomer: &Consumer) -> Result<(), Refusal> {
        let Some(keys) = &self.keys else { return Ok(()) };
        let auto_split = KeyShared { ranges: None, allow_out_of_order: false };
        let (active, connecting) = (&keys.mode, newcomer.key_shared.as_ref().unwrap_or(&auto_split));
        if active.mode() != connecting.mode() {
            return Err(Refusal::KeySharedMode { active: active.mode(), connecting: connecting.mode() });
        }
        if active.allow_out_of_order != connecting.allow_out_of_order {
            return Err(Refusal::OutOfOrder { active_allows: active.allow_out_of_order });
        }
        Ok(())
    }

    pub(super) fn join(&mut self, consumer: Consumer, core: &mut Core) -> Result<(), Refusal> {
        if let Some(keys) = &mut self.keys {
            let ranges = consumer.key_shared.as_ref().and_then(|mode| mode.ranges.as_deref());
            keys.selector.add(core.consumers.vacant(), &consumer.name, ranges).map_err(|error| refusal(error, core))?;
        }
        core.consumers.insert(consumer);
        self.reroute();
        Ok(())
    }

    pub(super) fn leave(&mut self, id: SlotId, core: &mut Core) {
        if let Some(keys) = &mut self.keys {
            keys.selector.remove(id);
        }
        self.chunks.remove_owner(id);
        if core.consumers.len() == 1 {
            self.forget(core);
            core.rewind();
        }
        for position in self.pending.of(id) {
            self.take_back(position, 0, core);
        }
        core.consumers.remove(id);
        self.reroute();
        self.recheck_limits(core);
    }

    /// Brings lanes and draining hashes up to date with who owns what.
    fn reroute(&mut self) {
        match &mut self.keys {
            None => {
                let chunks = &self.chunks;
                self.replay.relane(|waiting| waiting.lane.filter(|owner| chunks.has_owner(*owner)));
            }
            Some(keys) => {
                let Keys { selector, draining, mode } = keys;
                self.replay.relane(|waiting| selector.select(waiting.hash));
                draining.clear();
                if mode.allow_out_of_order {
                    return;
                }
                for (_, held) in self.pending.iter() {
                    if selector.select(held.hash) != Some(held.slot) {
                        let added = draining.add(held.slot, held.hash);
                        debug_assert!(added.is_ok(), "a hash is pending at one consumer only: {added:?}");
                    }
                }
            }
        }
    }

    /// Moves an entry from its consumer to the waiting ones.
    fn take_back(&mut self, position: Position, redeliveries: u32, core: &mut Core) {
        if let Some(held) = self.pending.remove(position, &mut core.consumers) {
            self.drained(held.slot, held.hash);
            let redeliveries = held.redeliveries.saturating_add(redeliveries);
            let lane = self.lane(held.hash);
            self.replay.insert(position, Waiting { redeliveries, hash: held.hash, lane });
        }
    }

    /// The lane of an entry that anyone its hash allows may take.
    pub(super) fn lane(&self, hash: u16) -> Lane {
        self.keys.as_ref().and_then(|keys| keys.selector.select(hash))
    }

    /// Notes that a consumer released an entry of a hash; true if that freed the hash for others.
    fn drained(&mut self, slot: SlotId, hash: u16) -> bool {
        let draining = self.keys.as_mut().map(|keys| &mut keys.draining).filter(|draining| !draining.is_empty());
        draining.is_some_and(|draining| draining.release(slot, hash).is_some())
    }

    pub(super) fn acked(&mut self, position: Position, remaining: u32, core: &mut Core) -> bool {
        let (slot, freed) = if remaining > 0 {
            (self.pending.shrink(position, remaining, &mut core.consumers), false)
        } else if let Some(held) = self.pending.remove(position, &mut core.consumers) {
            (Some(held.slot), self.drained(held.slot, held.hash))
        } else {
            return self.replay.remove(position).is_some();
        };
        let Some(slot) = slot else { return false };
        let opened = core.consumers.update_blocked(slot, &core.settings);
        self.update_blocked(&core.settings) || opened || freed
    }

    pub(super) fn redeliver(&mut self, id: SlotId, ids: Option<&[Position]>, core: &mut Core) -> bool {
        let all;
        let ids = match ids {
            Some(ids) => ids,
            None => {
                all = self.pending.of(id);
                &all
            }
        };
        let before = self.pending.len();
        for &position in ids {
            if self.pending.get(position).is_some_and(|held| held.slot == id) {
                self.take_back(position, 1, core);
            }
        }
        core.consumers.update_blocked(id, &core.settings);
        self.update_blocked(&core.settings);
        self.pending.len() < before
    }

    pub(super) fn prune(&mut self, cursor: &Cursor, core: &mut Core) {
        let acked = |position: &Position| cursor.is_acked(*position);
        let pending: Vec<_> = self.pending.iter().map(|(position, _)| position).filter(acked).collect();
        for position in pending {
            if let Some(held) = self.pending.remove(position, &mut core.consumers) {
                self.drained(held.slot, held.hash);
            }
        }
        let waiting: Vec<_> = self.replay.iter().map(|(position, _)| position).filter(acked).collect();
        for position in waiting {
            self.replay.remove(position);
        }
        self.delayed.retain(|position| !cursor.is_acked(position));
        self.recheck_limits(core);
    }

    /// Forgets every entry.
    pub(super) fn forget(&mut self, core: &mut Core) {
        self.pending.clear(&mut core.consumers);
        self.replay = Replay::default();
        self.delayed.clear();
        self.chunks.clear();
        if let Some(keys) = &mut self.keys {
            keys.draining.clear();
        }
        self.recheck_limits(core);
    }

    /// Applies the limits on unacknowledged messages after either changed.
    pub(super) fn recheck_limits(&mut self, core: &mut Core) {
        for id in core.consumers.order().to_vec() {
            core.consumers.update_blocked(id, &core.settings);
        }
        self.update_blocked(&core.settings);
    }

    /// Applies the subscription's limit; true if it opened.
    fn update_blocked(&mut self, settings: &Settings) -> bool {
        let (unacked, max) = (self.pending.messages(), settings.subscription_limit());
        let was = self.blocked;
        self.blocked = Settings::reaches(unacked, max) || (was && Settings::stays_blocked(unacked, max));
        was && !self.blocked
    }

    pub(super) fn next_due(&self, core: &Core) -> Option<u64> {
        self.delayed.next_due(&core.settings.delayed)
    }

    pub(super) fn unacked(&self) -> u64 {
        self.pending.messages()
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    pub(super) fn replay_len(&self) -> usize {
        self.replay.len()
    }

    pub(super) fn delayed_len(&self) -> usize {
        self.delayed.len()
    }

    pub(super) fn holder(&self, position: Position) -> Option<SlotId> {
        self.pending.get(position).map(|held| held.slot)
    }

    pub(super) fn redelivery_count(&self, position: Position) -> u32 {
        let pending = self.pending.get(position).map(|held| held.redeliveries);
        pending.or_else(|| self.replay.get(position).map(|waiting| waiting.redeliveries)).unwrap_or(0)
    }

    pub(super) fn ranges(&self) -> Vec<Range> {
        self.keys.as_ref().map(|keys| keys.selector.ranges()).unwrap_or_default()
    }

    pub(super) fn draining(&self) -> Vec<DrainingHash> {
        self.keys.as_ref().map(|keys| keys.draining.iter().collect()).unwrap_or_default()
    }
}

/// The refusal for a consumer without hashes.
fn refusal(error: AssignError, core: &Core) -> Refusal {
    match error {
        AssignError::Conflict(owner) => match core.consumers.get(owner) {
            Some(slot) => {
                Refusal::RangeConflict { holder: slot.consumer.key, description: slot.consumer.description.clone() }
            }
            None => Refusal::Assign(error),
        },
        error => Refusal::Assign(error),
    }
}
