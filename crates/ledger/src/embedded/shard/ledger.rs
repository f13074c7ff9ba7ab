//! A ledger as its writer's shard knows it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::{AppendError, AppendSink, Class, Epoch, LedgerId};

pub(super) struct Ledger {
    pub(super) id: LedgerId,
    pub(super) epoch: Epoch,
    pub(super) journal: usize,
    pub(super) class: Class,
    sink: RefCell<Option<Rc<dyn AppendSink>>>,
    /// The number of the next entry.
    pub(super) next: Cell<u64>,
    /// The last block an entry went into.
    pub(super) block: Cell<Option<u64>>,
    pub(super) failed: RefCell<Option<AppendError>>,
    /// Where the latest entries are, up to `next`.
    pub(super) slots: RefCell<VecDeque<Slot>>,
}

/// Where an entry is in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) block: u64,
    pub(super) offset: u32,
    pub(super) length: u32,
}

impl Ledger {
    pub(super) fn new(id: LedgerId, epoch: Epoch, journal: usize, class: Class, sink: Rc<dyn AppendSink>) -> Rc<Self> {
        Rc::new(Self {
            id,
            epoch,
            journal,
            class,
            sink: RefCell::new(Some(sink)),
            next: Cell::new(0),
            block: Cell::new(None),
            failed: RefCell::new(None),
            slots: RefCell::default(),
        })
    }

    /// Tells the sink that everything up to `last` is durable, unless it was told of a failure.
    pub(super) fn advanced(&self, last: u64) {
        if self.failed.borrow().is_none()
            && let Some(sink) = self.sink()
        {
            sink.advanced(last);
        }
    }

    /// Tells the sink of the first failure.
    pub(super) fn fail(&self, error: AppendError) {
        if self.failed.borrow().is_some() {
            return;
        }
        *self.failed.borrow_mut() = Some(error.clone());
        if let Some(sink) = self.sink() {
            sink.failed(error);
        }
    }

    /// Lets go of the sink: nobody is told any more.
    pub(super) fn abandon(&self) {
        self.sink.borrow_mut().take();
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.sink.borrow().is_none()
    }

    fn sink(&self) -> Option<Rc<dyn AppendSink>> {
        self.sink.borrow().clone()
    }

    /// Forgets where entries are in blocks up to `block`.
    pub(super) fn forget_through(&self, block: u64) {
        let mut slots = self.slots.borrow_mut();
        while slots.front().is_some_and(|slot| slot.block <= block) {
            slots.pop_front();
        }
    }
}
