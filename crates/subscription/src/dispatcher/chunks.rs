//! Which consumer gets the chunks of a message.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::Chunk;
use super::consumer::SlotId;

/// Messages of which some chunks are given out and others not yet; the oldest are forgotten beyond that.
const MAX_MESSAGES: usize = 4096;

/// The consumers of chunked messages on their way.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    owners: HashMap<u64, SlotId, FixedState>,
    /// The messages in order of their first chunk, with some that are done.
    oldest: VecDeque<u64>,
}

impl Chunks {
    /// Who got the chunks before this one.
    pub(super) fn owner(&self, chunk: Chunk) -> Option<SlotId> {
        if chunk.id == 0 { None } else { self.owners.get(&chunk.message).copied() }
    }

    /// Notes that `owner` gets this chunk; tells the hashes of messages that went to another consumer before.
    pub(super) fn took(&mut self, chunk: Chunk, owner: SlotId, mut moved: impl FnMut(u16)) {
        let is_last = chunk.id.saturating_add(1) >= chunk.count;
        let before =
            if is_last { self.owners.remove(&chunk.message) } else { self.owners.insert(chunk.message, owner) };
        if before.is_some_and(|before| before != owner) {
            moved(Self::hash(chunk.message));
        }
        if before.is_none() && !is_last {
            self.oldest.push_back(chunk.message);
        }
        while self.oldest.len() > MAX_MESSAGES
            && let Some(message) = self.oldest.pop_front()
        {
            if self.owners.remove(&message).is_some() {
                moved(Self::hash(message));
            }
        }
    }

    /// Whether some message is to go to `owner`.
    pub(super) fn has_owner(&self, owner: SlotId) -> bool {
        self.owners.values().any(|other| *other == owner)
    }

    /// Forgets a consumer.
    pub(super) fn remove_owner(&mut self, owner: SlotId) {
        self.owners.retain(|_, other| *other != owner);
    }

    pub(super) fn clear(&mut self) {
        self.owners.clear();
        self.oldest.clear();
    }

    /// A hash, not 0, under which the chunks of a message keep their order.
    pub(super) fn hash(message: u64) -> u16 {
        let folded = message ^ (message >> 32);
        ((folded ^ (folded >> 16)) as u16).max(1)
    }
}
