//! Who gets the entries of a read.

use super::super::chunks::Chunks;
use super::super::consumer::SlotId;
use super::super::core::Core;
use super::super::pending::Held;
use super::super::replay::{Lane, Waiting};
use super::super::{ConsumerKey, Delivery, Facts, Plan};
use super::{Keys, Shared};
use crate::Cursor;

/// Where an entry can go.
enum Route {
    To(SlotId),
    /// Nowhere now; later in this lane.
    Wait(Lane),
}

impl Shared {
    pub(in super::super) fn offer(
        &mut self,
        plan: &Plan,
        core: &mut Core,
        entries: &[Facts],
        cursor: &Cursor,
        now_ms: u64,
        out: &mut Vec<Delivery>,
    ) {
        let forward = matches!(plan, Plan::Forward { .. });
        let mut open = core.consumers.open();
        self.turn.end();
        for (index, entry) in entries.iter().enumerate() {
            if open == 0 || self.blocked {
                return;
            }
            if forward {
                if entry.position < core.read_position {
                    continue;
                }
                core.read_position = entry.position.after();
            }
            let messages = cursor.remaining_count(entry.position, entry.messages.max(1));
            if messages == 0 {
                self.replay.remove(entry.position);
                continue;
            }
            let waiting = if forward {
                let hash = self.hash(entry);
                if let Some(at) = entry.deliver_at
                    && core.settings.delayed.must_wait(at, now_ms)
                {
                    self.delayed.insert(at, entry.position, hash);
                    continue;
                }
                Waiting { redeliveries: 0, hash, lane: None }
            } else {
                let Some(waiting) = self.replay.get(entry.position) else { continue };
                waiting
            };
            match self.route(entry, waiting.hash, core) {
                Route::Wait(lane) => self.replay.insert(entry.position, Waiting { lane, ..waiting }),
                Route::To(slot) => {
                    self.replay.remove(entry.position);
                    let consumer = self.deliver(entry, messages, waiting, slot, core);
                    open -= usize::from(core.consumers.get(slot).is_none_or(|slot| !slot.has_capacity()));
                    if let Some(consumer) = consumer {
                        out.push(Delivery { index, consumer, redelivery_count: waiting.redeliveries });
                    }
                }
            }
        }
    }

    /// The consumer that can take an entry that nobody keeps.
    pub(in super::super) fn pick(&mut self, core: &Core, entry: &Facts) -> Option<SlotId> {
        match &self.keys {
            Some(keys) => keys.selector.select(keys.selector.sticky_hash(entry.key_hash)),
            None => {
                let slot = self.turn.pick(&core.consumers, core.settings.round_robin_messages)?;
                self.turn.took(entry.messages.max(1));
                Some(slot)
            }
        }
    }

    fn hash(&self, entry: &Facts) -> u16 {
        match &self.keys {
            Some(keys) => keys.selector.sticky_hash(entry.key_hash),
            None => entry.chunk.map_or(0, |chunk| Chunks::hash(chunk.message)),
        }
    }

    fn route(&mut self, entry: &Facts, hash: u16, core: &Core) -> Route {
        let position = entry.position;
        let has_capacity = |id: SlotId| core.consumers.get(id).is_some_and(|slot| slot.has_capacity());
        let ordered = hash != 0 && self.keys.as_ref().is_none_or(Keys::ordered);
        let behind = ordered && self.replay.is_behind(position, hash);
        match &mut self.keys {
            Some(keys) => {
                let owner = keys.selector.select(hash);
                match owner {
                    Some(id) if behind || !has_capacity(id) || keys.draining.blocks(id, hash) => Route::Wait(owner),
                    Some(id) => Route::To(id),
                    None => Route::Wait(None),
                }
            }
            None => match entry.chunk.and_then(|chunk| self.chunks.owner(chunk)) {
                Some(id) if !behind && has_capacity(id) => Route::To(id),
                owner @ Some(_) => Route::Wait(owner),
                None if behind => Route::Wait(None),
                None => match self.turn.pick(&core.consumers, core.settings.round_robin_messages) {
                    Some(id) => Route::To(id),
                    None => Route::Wait(None),
                },
            },
        }
    }

    /// Makes an entry pending at a consumer.
    fn deliver(
        &mut self,
        entry: &Facts,
        messages: u32,
        waiting: Waiting,
        slot: SlotId,
        core: &mut Core,
    ) -> Option<ConsumerKey> {
        let held = Held { slot, messages, redeliveries: waiting.redeliveries, hash: waiting.hash };
        if !self.pending.insert(entry.position, held, &mut core.consumers) {
            return None;
        }
        if self.keys.is_none() {
            self.turn.took(messages);
            if let Some(chunk) = entry.chunk {
                self.chunks.took(chunk, slot, |hash| self.replay.free(hash));
            }
        }
        core.batch_size.record(messages);
        core.consumers.update_blocked(slot, &core.settings);
        self.update_blocked(&core.settings);
        let slot = core.consumers.get_mut(slot)?;
        slot.permits -= i64::from(messages);
        Some(slot.consumer.key)
    }
}
