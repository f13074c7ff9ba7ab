//! What to read next.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::super::Plan;
use super::super::core::Core;
use super::super::replay::{Lane, Waiting};
use super::{Keys, Shared};
use crate::{Cursor, Layout, Position};

impl Shared {
    pub(in super::super) fn plan(
        &mut self,
        core: &Core,
        cursor: &Cursor,
        layout: &dyn Layout,
        now_ms: u64,
    ) -> Option<Plan> {
        let look_ahead = core.settings.look_ahead(core.consumers.len());
        self.wake_due(core, look_ahead, now_ms);
        let permits = core.consumers.open_permits();
        if self.blocked || permits <= 0 {
            return None;
        }
        let max_entries = core.entries(permits);
        let replay = self.choose(core, cursor, layout, max_entries as usize);
        if !replay.is_empty() {
            return Some(Plan::Replay(replay));
        }
        let room = look_ahead.saturating_sub(self.replay.len());
        if room == 0 {
            return None;
        }
        let from = cursor.next_unacked(core.read_position, layout)?;
        Some(Plan::Forward { from, max_entries: max_entries.min(u32::try_from(room).unwrap_or(u32::MAX)) })
    }

    /// Moves entries whose time has come to the waiting ones, as far as those may grow.
    fn wake_due(&mut self, core: &Core, look_ahead: usize, now_ms: u64) {
        while self.replay.len() < look_ahead
            && let Some((position, hash)) = self.delayed.pop_due(now_ms, &core.settings.delayed)
        {
            let lane = self.lane(hash);
            self.replay.insert(position, Waiting { redeliveries: 0, hash, lane });
        }
    }

    /// Waiting entries that can be delivered now, ascending, about `max` at most. Those that are acknowledged or
    /// vanished meanwhile are dropped.
    fn choose(&mut self, core: &Core, cursor: &Cursor, layout: &dyn Layout, max: usize) -> Vec<Position> {
        if self.replay.is_empty() {
            return Vec::new();
        }
        let own = core.consumers.iter().filter(|(_, slot)| slot.has_capacity());
        let mut lanes: Vec<(Lane, usize)> =
            own.map(|(id, slot)| (Some(id), core.entries(slot.permits) as usize)).collect();
        let share = max.div_ceil(lanes.len().max(1));
        if self.keys.is_none() {
            lanes.push((None, max));
        }
        let mut choice = Choice::default();
        for (lane, budget) in lanes {
            let budget = if self.keys.is_some() { budget.min(share) } else { budget };
            self.choose_lane(lane, budget, cursor, layout, &mut choice);
        }
        for position in choice.gone {
            self.replay.remove(position);
        }
        choice.positions.sort_unstable();
        choice.positions
    }

    fn choose_lane(&self, lane: Lane, budget: usize, cursor: &Cursor, layout: &dyn Layout, choice: &mut Choice) {
        let ordered = self.keys.as_ref().is_none_or(Keys::ordered);
        let full = choice.positions.len() + budget;
        for position in self.replay.lane(lane) {
            if choice.positions.len() >= full {
                return;
            }
            let gone = cursor.is_acked(position) || !layout.contains(position);
            if gone {
                choice.gone.push(position);
            }
            let hash = self.replay.get(position).map_or(0, |waiting| waiting.hash);
            if let (Some(keys), Some(owner)) = (&self.keys, lane)
                && keys.draining.would_block(owner, hash)
            {
                continue;
            }
            if ordered && hash != 0 {
                if self.replay.is_behind(position, hash) && !choice.hashes.contains(&hash) {
                    continue;
                }
                choice.hashes.insert(hash);
            }
            if !gone {
                choice.positions.push(position);
            }
        }
    }
}

#[derive(Default)]
struct Choice {
    positions: Vec<Position>,
    /// The hashes of which the first waiting entry is chosen, or gone.
    hashes: HashSet<u16, FixedState>,
    gone: Vec<Position>,
}
