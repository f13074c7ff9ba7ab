//! Exclusive and Failover: one consumer is served, strictly in order.

use super::consumer::SlotId;
use super::core::Core;
use super::{Delivery, Event, Facts, Kind, Plan};
use crate::failover::{self, Spread};
use crate::{Cursor, Layout, Position};

/// Who is served.
#[derive(Debug, Default)]
pub(super) struct Single {
    active: Option<SlotId>,
    handover: Option<Handover>,
}

/// The time a new active consumer gives the old one to acknowledge what it has.
#[derive(Clone, Copy, Debug)]
struct Handover {
    from: SlotId,
    /// Where the old one had got to.
    up_to: Position,
    until_ms: u64,
}

impl Single {
    pub(super) fn active(&self) -> Option<SlotId> {
        self.active
    }

    pub(super) fn next_due(&self) -> Option<u64> {
        self.handover.map(|handover| handover.until_ms)
    }

    /// Forgets what was in flight.
    pub(super) fn forget(&mut self) {
        self.handover = None;
    }

    /// Notes that a consumer left.
    pub(super) fn left(&mut self, id: SlotId) {
        if self.active == Some(id) {
            self.active = None;
        }
        self.handover = self.handover.filter(|handover| handover.from != id);
    }

    /// Picks the active consumer; a new one gets everything unacknowledged. Tells each Failover consumer its status
    /// when it differs from what that consumer was told last.
    pub(super) fn elect(&mut self, kind: Kind, core: &mut Core, now_ms: u64) -> Vec<Event> {
        let settings = &core.settings;
        let spread = Spread::new(&settings.topic, settings.partition, settings.failover_ring);
        let candidates = core.consumers.iter().map(|(_, slot)| (slot.consumer.name.as_str(), slot.consumer.priority));
        let elected = failover::pick(candidates, spread).and_then(|index| core.consumers.order().get(index).copied());
        if elected != self.active {
            if let Some(from) = self.active
                && self.handover.is_none()
            {
                let until_ms = now_ms.saturating_add(core.settings.failover_delay_ms);
                self.handover = Some(Handover { from, up_to: core.read_position, until_ms });
            }
            self.active = elected;
            // What it has itself, the old one need not be waited for.
            self.handover = self.handover.filter(|handover| Some(handover.from) != elected);
            core.rewind();
        }
        match kind {
            Kind::Failover => self.announce(core),
            _ => Vec::new(),
        }
    }

    fn announce(&self, core: &mut Core) -> Vec<Event> {
        let mut events = Vec::new();
        for id in core.consumers.order().to_vec() {
            let is_active = self.active == Some(id);
            let Some(slot) = core.consumers.get_mut(id) else { continue };
            if slot.told_active != Some(is_active) {
                slot.told_active = Some(is_active);
                events.push(Event::ActiveChanged { consumer: slot.consumer.key, is_active });
            }
        }
        events
    }

    pub(super) fn plan(&mut self, core: &Core, cursor: &Cursor, layout: &dyn Layout, now_ms: u64) -> Option<Plan> {
        let slot = core.consumers.get(self.active?).filter(|slot| slot.has_capacity())?;
        let from = cursor.next_unacked(core.read_position, layout)?;
        if let Some(handover) = self.handover {
            if now_ms < handover.until_ms && from < handover.up_to {
                return None;
            }
            self.handover = None;
        }
        Some(Plan::Forward { from, max_entries: core.entries(slot.permits) })
    }

    pub(super) fn offer(&self, core: &mut Core, entries: &[Facts], cursor: &Cursor, out: &mut Vec<Delivery>) {
        let Some(slot) = self.active.and_then(|id| core.consumers.get_mut(id)) else { return };
        for (index, entry) in entries.iter().enumerate() {
            if entry.position < core.read_position {
                continue;
            }
            let messages = cursor.remaining_count(entry.position, entry.messages.max(1));
            if messages > 0 {
                if !slot.has_capacity() {
                    return;
                }
                slot.permits -= i64::from(messages);
                core.batch_size.record(messages);
                out.push(Delivery { index, consumer: slot.consumer.key, redelivery_count: 0 });
            }
            core.read_position = entry.position.after();
        }
    }
}
