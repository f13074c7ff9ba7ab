//! Whose turn it is among consumers that can all take an entry.

use super::consumer::{Consumers, SlotId};

/// Round robin within the best priority level that has capacity, several messages to a turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    last: Option<SlotId>,
    /// Messages left of the turn of `last`.
    left: u32,
}

impl Turn {
    /// Ends the turn: the next pick goes to another consumer, if there is one.
    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// The consumer that gets the next entry; `None` if none has capacity.
    pub(super) fn pick(&mut self, consumers: &Consumers, messages_per_turn: u32) -> Option<SlotId> {
        let has_capacity = |id: SlotId| consumers.get(id).is_some_and(|slot| slot.has_capacity());
        if self.left > 0
            && let Some(last) = self.last.filter(|&id| has_capacity(id))
        {
            return Some(last);
        }
        let order = consumers.order();
        let priority = |id: SlotId| consumers.get(id).map_or(i32::MAX, |slot| slot.consumer.priority);
        let level = priority(*order.iter().find(|&&id| has_capacity(id))?);
        let start = order.partition_point(|&id| priority(id) < level);
        let level = &order[start..][..order[start..].partition_point(|&id| priority(id) == level)];
        let after = level.iter().position(|id| Some(*id) == self.last).map_or(0, |at| at + 1);
        let next = level[after..].iter().chain(&level[..after]).copied().find(|&id| has_capacity(id))?;
        self.last = Some(next);
        self.left = messages_per_turn.max(1);
        Some(next)
    }

    /// Notes that the consumer whose turn it is got an entry of `messages` messages.
    pub(super) fn took(&mut self, messages: u32) {
        self.left = self.left.saturating_sub(messages);
    }
}
