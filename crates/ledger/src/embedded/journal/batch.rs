//! A batch while it is put together, and how it is taken back.

use std::sync::Arc;

use bytes::Bytes;

use super::{Command, Open, State};
use crate::disk::ALIGNMENT;
use crate::embedded::batch;
use crate::embedded::block::Block;
use crate::embedded::id_hash::IdMap;
use crate::embedded::inbox::{Completion, Outbox};
use crate::embedded::index::MemoryIndex;
use crate::embedded::record;
use crate::{Closed, Epoch, Error};

/// What goes to disk with one write.
pub(super) struct Batch {
    /// Whether it is written past the page cache.
    pub(super) is_direct: bool,
    /// Where its header goes in the segment.
    pub(super) start: u64,
    /// Where the next record goes in the segment.
    pub(super) at: u64,
    pub(super) parts: Vec<Part>,
    pub(super) records: u32,
    pub(super) sum: u64,
    /// How many entries it holds.
    pub(super) entries: u64,
    /// What is told once it is durable.
    pub(super) outbox: Outbox,
    /// How to take it back if it is not.
    pub(super) undo: Vec<Undo>,
    /// Ledgers whose writers failed for want of room.
    pub(super) failed: Vec<u64>,
    /// Ledgers that are deleted once it is durable.
    pub(super) deletes: Vec<u64>,
    /// Ledgers that may have no further need of the journal.
    pub(super) over: Vec<u64>,
}

/// What is written of a batch in one piece.
pub(super) struct Part {
    pub(super) bytes: Bytes,
    /// Whether it begins and ends with a page, in memory and in the segment.
    pub(super) is_pages: bool,
}

impl Batch {
    /// A batch behind one that ends at `end`.
    pub(super) fn new(end: u64, is_direct: bool) -> Self {
        let start = if is_direct { batch::direct_start(end) } else { end };
        Self {
            is_direct,
            start,
            at: start + batch::HEADER as u64,
            parts: Vec::new(),
            records: 0,
            sum: 0,
            entries: 0,
            outbox: Outbox::default(),
            undo: Vec::new(),
            failed: Vec::new(),
            deletes: Vec::new(),
            over: Vec::new(),
        }
    }

    /// Where the records of `block` would go.
    pub(super) fn place(&self, block: &Block) -> u64 {
        if self.takes_pages(block) { self.at.next_multiple_of(ALIGNMENT as u64) } else { self.at }
    }

    /// Adds a block.
    pub(super) fn add(&mut self, block: &Block) {
        self.at = self.place(block);
        let pages = block.pages.as_ref().filter(|_| self.is_direct);
        self.push(pages.unwrap_or(&block.bytes).clone(), pages.is_some());
    }

    /// Adds bytes that may lie anywhere.
    pub(super) fn push(&mut self, bytes: Bytes, is_pages: bool) {
        self.at += bytes.len() as u64;
        self.parts.push(Part { bytes, is_pages });
    }

    /// Where it ends in the segment.
    pub(super) fn end(&self) -> u64 {
        if self.is_direct { self.at.next_multiple_of(ALIGNMENT as u64) } else { self.at }
    }

    fn takes_pages(&self, block: &Block) -> bool {
        self.is_direct && block.pages.is_some()
    }
}

/// How to take back one thing that was admitted.
pub(super) enum Undo {
    Entry { ledger: u64, size: u32 },
    Create { ledger: u64 },
    Seal { ledger: u64, before: Box<Before> },
    Delete { ledger: u64, state: Option<Box<State>> },
}

/// What was known of a ledger before it was sealed. Boxed: most of what is taken back is entries.
pub(super) struct Before {
    pub(super) row: (Epoch, Option<Closed>),
    pub(super) open: Option<(Epoch, State)>,
}

impl Undo {
    /// Takes it back. Returns the ledger if that leaves it failed and not sealed.
    pub(super) fn apply(self, index: &mut MemoryIndex, open: &mut IdMap<Open>) -> Option<u64> {
        match self {
            Self::Entry { ledger, size } => {
                index.retract(ledger);
                if let Some(open) = open.get_mut(&ledger) {
                    open.next -= 1;
                    open.length -= u64::from(size) - record::HEADER as u64;
                }
                None
            }
            Self::Create { ledger } => {
                open.remove(&ledger);
                index.row(ledger).created = false;
                index.forget_empty(ledger);
                None
            }
            Self::Seal { ledger, before } => {
                let row = index.row(ledger);
                (row.epoch, row.sealed) = before.row;
                index.forget_empty(ledger);
                let (epoch, state) = before.open?;
                let failed = matches!(state, State::Failed(_)).then_some(ledger);
                if let Some(open) = open.get_mut(&ledger) {
                    (open.epoch, open.state) = (epoch, state);
                }
                failed
            }
            Self::Delete { ledger, state } => {
                index.deletes.pop();
                let state = *state?;
                let failed = matches!(state, State::Failed(_)).then_some(ledger);
                if let Some(open) = open.get_mut(&ledger) {
                    open.state = state;
                }
                failed
            }
        }
    }
}

impl Command {
    /// Tells whoever gave the command that it came to nothing.
    pub(super) fn fail(&self, journal: usize, cause: &Arc<str>, refused: bool, outbox: &mut Outbox) {
        match self {
            Self::Append(block) => outbox.add(&block.inbox, Completion::Resolved { journal }),
            Self::Create { reply, .. } | Self::Seal { reply, .. } | Self::Delete { reply, .. } => {
                let cause = Arc::clone(cause);
                let error = if refused { Error::Unavailable(cause) } else { Error::Io(cause) };
                outbox.add(&reply.inbox, Completion::Answer { token: reply.token, answer: Err(error) });
            }
            Self::Release { .. } | Self::Retry => {}
        }
    }
}
