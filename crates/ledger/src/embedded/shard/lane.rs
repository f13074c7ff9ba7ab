//! A shard's way to one journal.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::ledger::{Ledger, Slot};
use super::tail::Tail;
use crate::embedded::block::{Block, Builder, FULL, SMALLEST};
use crate::embedded::id_hash::IdMap;
use crate::embedded::inbox::Inbox;
use crate::embedded::record;
use crate::embedded::seed::Seed;
use crate::{AppendError, Body};

/// The ledgers with entries in a block, each with the last one.
pub(super) type Touched = Rc<[(Rc<Ledger>, u64)]>;

/// The block that is being filled for a journal, and those on their way.
pub(super) struct Lane {
    seed: Seed,
    /// From which length on blocks are fit to be written past the page cache.
    aligned_from: usize,
    filling: Option<Filling>,
    /// The length of the next block: longer after one that was too short, shorter after one that stayed mostly empty,
    /// so that little memory is held for nothing.
    capacity: usize,
    /// The blocks the journal has not answered for, oldest first.
    outstanding: VecDeque<Touched>,
}

/// The length of the longest blocks: a full one and one more entry of usual length.
const LONGEST: usize = FULL + FULL / 4;

struct Filling {
    builder: Builder,
    number: u64,
    touched: Vec<Rc<Ledger>>,
}

impl Lane {
    pub(super) fn new(seed: Seed, direct_bytes: usize) -> Self {
        // Writes are put together from several blocks.
        let aligned_from = direct_bytes / 4;
        Self { seed, aligned_from, filling: None, capacity: SMALLEST, outstanding: VecDeque::new() }
    }

    /// Whether the block must leave before a body of `length` bytes can be added.
    pub(super) fn is_full_for(&mut self, length: usize) -> bool {
        let full = self.filling.as_ref().is_some_and(|filling| !filling.builder.fits(length));
        if full {
            self.capacity = (self.capacity * 4).min(LONGEST);
        }
        full
    }

    /// Whether the block should leave at once.
    pub(super) fn is_full(&self) -> bool {
        self.filling.as_ref().is_some_and(|filling| filling.builder.len() >= FULL)
    }

    /// Adds an entry and returns its number.
    pub(super) fn push(&mut self, ledger: &Rc<Ledger>, body: Body<'_>, tail: &mut Tail) -> u64 {
        let (seed, capacity) = (self.seed, self.capacity.max(record::HEADER + body.bytes.len()));
        let is_aligned = capacity >= self.aligned_from;
        let filling = self.filling.get_or_insert_with(|| Filling {
            builder: Builder::with_capacity(capacity, is_aligned, seed),
            number: tail.start_block(),
            touched: Vec::new(),
        });
        let entry = ledger.next.replace(ledger.next.get() + 1);
        let (offset, length) = filling.builder.push(ledger.id.0, entry, body);
        if ledger.block.replace(Some(filling.number)) != Some(filling.number) {
            filling.touched.push(Rc::clone(ledger));
        }
        ledger.slots.borrow_mut().push_back(Slot { block: filling.number, offset, length });
        entry
    }

    /// Closes the block that is being filled, if there is one.
    pub(super) fn finish(
        &mut self,
        inbox: &Arc<Inbox>,
        tail: &mut Tail,
        ledgers: &mut IdMap<Rc<Ledger>>,
    ) -> Option<Block> {
        let Filling { builder, number, touched } = self.filling.take()?;
        if builder.len() * 4 < self.capacity {
            self.capacity = (self.capacity / 2).max(SMALLEST);
        }
        let touched: Touched = touched.into_iter().map(|ledger| (Rc::clone(&ledger), ledger.next.get() - 1)).collect();
        let block = builder.finish(inbox, &tail.account);
        tail.add(number, block.bytes.clone(), Rc::clone(&touched), ledgers);
        self.outstanding.push_back(touched);
        Some(block)
    }

    /// The journal has answered for the oldest block.
    pub(super) fn resolved(&mut self) -> Option<Touched> {
        self.outstanding.pop_front()
    }

    /// The journal will not answer any more.
    pub(super) fn give_up(&mut self, error: &AppendError) {
        for touched in self.outstanding.drain(..) {
            for (ledger, _) in touched.iter() {
                *ledger.failed.borrow_mut() = Some(error.clone());
            }
        }
    }
}
