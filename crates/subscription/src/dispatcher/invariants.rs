//! What is always true of a dispatcher.

use std::collections::{BTreeMap, HashMap};

use super::{Dispatcher, Mode};
use crate::selector::Draining;

impl Dispatcher {
    /// Checks that the parts of the state agree with each other: every count is the size of its set, an entry is in
    /// one place only, and no key is at two consumers.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check_invariants(&self) -> Result<(), String> {
        let Mode::Shared(shared) = &self.mode else { return Ok(()) };
        let mut counts: BTreeMap<_, (u64, u64)> = self.core.consumers.iter().map(|(id, _)| (id, (0, 0))).collect();
        let mut holders = HashMap::new();
        let mut expected = Draining::default();
        for (position, held) in shared.pending.iter() {
            let (entries, messages) =
                counts.get_mut(&held.slot).ok_or_else(|| format!("{position} is held by nobody"))?;
            *entries += 1;
            *messages += u64::from(held.messages);
            if shared.replay.get(position).is_some() {
                return Err(format!("{position} is pending and waits as well"));
            }
            let Some(keys) = shared.keys.as_ref().filter(|keys| keys.ordered()) else { continue };
            if *holders.entry(held.hash).or_insert(held.slot) != held.slot {
                return Err(format!("hash {} is pending at two consumers", held.hash));
            }
            if keys.selector.select(held.hash) != Some(held.slot) {
                expected.add(held.slot, held.hash).map_err(|error| error.to_string())?;
            }
        }
        for (id, slot) in self.core.consumers.iter() {
            if counts.get(&id) != Some(&(slot.pending, slot.unacked)) {
                return Err(format!("{:?} counts {} entries, {:?}", slot.consumer.key, slot.pending, counts.get(&id)));
            }
        }
        if counts.values().map(|(_, messages)| messages).sum::<u64>() != shared.pending.messages() {
            return Err(format!("{} unacknowledged messages are counted", shared.pending.messages()));
        }
        if let Some(position) = shared.delayed.positions().find(|position| shared.pending.get(*position).is_some()) {
            return Err(format!("{position} is pending and delayed as well"));
        }
        for (position, waiting) in shared.replay.iter() {
            if shared.keys.is_some() && waiting.lane != shared.lane(waiting.hash) {
                return Err(format!("{position} waits for {:?}", waiting.lane));
            }
        }
        let sizes = |draining: &Draining| {
            let mut sizes: Vec<_> = draining.iter().map(|hash| (hash.hash, hash.owner, hash.held)).collect();
            sizes.sort_unstable();
            sizes
        };
        let draining = shared.keys.as_ref().map(|keys| sizes(&keys.draining)).unwrap_or_default();
        if draining != sizes(&expected) {
            return Err(format!("draining {draining:?}, it should be {:?}", sizes(&expected)));
        }
        Ok(())
    }
}
