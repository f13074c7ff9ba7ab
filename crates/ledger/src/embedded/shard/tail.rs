//! The latest blocks of a shard, from which tailing readers are served.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::lane::Touched;
use super::ledger::{Ledger, Slot};
use crate::Entry;
use crate::embedded::block::Account;
use crate::embedded::engine::Engine;
use crate::embedded::id_hash::IdMap;

/// Blocks in the order in which they were begun. Bounded by bytes: those of blocks that were dropped here but are held
/// by readers count too.
pub(super) struct Tail {
    engine: Arc<Engine>,
    pub(super) account: Account,
    blocks: VecDeque<Option<Kept>>,
    /// The number of the first block.
    first: u64,
}

struct Kept {
    bytes: Bytes,
    touched: Touched,
}

impl Tail {
    pub(super) fn new(engine: &Arc<Engine>) -> Self {
        let account = Account { shard: Arc::default(), store: Arc::clone(&engine.cached_bytes) };
        Self { engine: Arc::clone(engine), account, blocks: VecDeque::new(), first: 0 }
    }

    /// Begins a block and returns its number.
    pub(super) fn start_block(&mut self) -> u64 {
        self.blocks.push_back(None);
        self.first + self.blocks.len() as u64 - 1
    }

    /// Keeps a block, and drops the oldest while there is more than this shard's share.
    pub(super) fn add(&mut self, number: u64, bytes: Bytes, touched: Touched, ledgers: &mut IdMap<Rc<Ledger>>) {
        let index = (number - self.first) as usize;
        self.blocks[index] = Some(Kept { bytes, touched });
        let share = self.engine.config.cache_bytes / self.engine.shards.load(Ordering::Relaxed).max(1);
        while self.account.shard.load(Ordering::Relaxed) > share && matches!(self.blocks.front(), Some(Some(_))) {
            self.drop_first(ledgers);
        }
    }

    fn drop_first(&mut self, ledgers: &mut IdMap<Rc<Ledger>>) {
        let Some(Some(kept)) = self.blocks.pop_front() else { return };
        for (ledger, _) in kept.touched.iter() {
            ledger.forget_through(self.first);
            if ledger.is_abandoned() && ledger.slots.borrow().is_empty() {
                ledgers.remove(&ledger.id.0);
            }
        }
        self.first += 1;
    }

    /// The bytes of an entry, if its block is still here.
    fn slice(&self, slot: Slot) -> Option<Bytes> {
        let index = usize::try_from(slot.block.checked_sub(self.first)?).ok()?;
        let kept = self.blocks.get(index)?.as_ref()?;
        let from = slot.offset as usize;
        Some(kept.bytes.slice(from..from + slot.length as usize))
    }

    /// Adds entries `first..=last` of `ledger` to `out` as far as they are here, at least one and up to `max_bytes`.
    pub(super) fn read(&self, ledger: &Ledger, first: u64, last: u64, max_bytes: usize, out: &mut Vec<Entry>) -> usize {
        let slots = ledger.slots.borrow();
        let oldest = ledger.next.get() - slots.len() as u64;
        let Some(skip) = first.checked_sub(oldest) else { return 0 };
        let (mut count, mut bytes) = (0, 0usize);
        for (id, &slot) in (first..=last).zip(slots.range((skip as usize).min(slots.len())..)) {
            bytes = bytes.saturating_add(slot.length as usize);
            if count > 0 && bytes > max_bytes {
                break;
            }
            let Some(slice) = self.slice(slot) else { break };
            out.push(Entry { id, bytes: slice });
            count += 1;
        }
        self.engine.metrics.cached_entries.add(count as u64);
        count
    }
}
