//! The end of a sequence of ledgers: the open ledger, and appends that wait for the next one.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bytes::Bytes;
use plerion_ledger::{AppendError, Body, LedgerWriter, Verified};

/// The open end of a log. Appends go to the writer, or wait in order while the owner makes one.
#[derive(Default)]
pub(crate) struct Tail {
    writer: Option<Box<dyn LedgerWriter>>,
    /// The owner is exchanging the writer: appends wait.
    switching: bool,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    open: Open,
}

struct Waiting {
    bytes: Bytes,
    verified: Option<Verified>,
}

/// What is in the open ledger.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Open {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    pub(crate) confirmed: u64,
    /// Monotonic time of its first use.
    pub(crate) since: Duration,
}

/// What became of a pushed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It is on its way to the ledger.
    Appended,
    /// It waits; the owner is to make a writer.
    NeedsWriter,
    /// It waits for the writer being made.
    Waits,
}

impl Tail {
    /// Takes an entry. With `roll` the open ledger takes no more of them.
    pub(crate) fn push(&mut self, body: Body<'_>, roll: bool) -> Result<Pushed, AppendError> {
        if let Some(writer) = self.writer.as_mut().filter(|_| !self.switching && !roll) {
            writer.append(body)?;
            self.open.entries += 1;
            self.open.bytes += body.bytes.len() as u64;
            return Ok(Pushed::Appended);
        }
        self.waiting.push_back(Waiting { bytes: Bytes::copy_from_slice(body.bytes), verified: body.verified });
        self.waiting_bytes += body.bytes.len();
        Ok(if mem::replace(&mut self.switching, true) { Pushed::Waits } else { Pushed::NeedsWriter })
    }

    /// From now on appends wait; gives the writer to close, if there is one.
    pub(crate) fn begin_switch(&mut self) -> Option<Box<dyn LedgerWriter>> {
        self.switching = true;
        self.writer.take()
    }

    /// Ends a switch with a new writer, which gets what waits.
    pub(crate) fn install(&mut self, writer: Box<dyn LedgerWriter>, now: Duration) -> Result<(), AppendError> {
        self.writer = Some(writer);
        self.switching = false;
        self.open = Open { since: now, ..Open::default() };
        self.waiting_bytes = 0;
        while let Some(Waiting { bytes, verified }) = self.waiting.pop_front() {
            self.push(Body { bytes: &bytes, verified }, false)?;
        }
        Ok(())
    }

    /// Ends a switch without a writer, if nothing waits for one.
    pub(crate) fn rest(&mut self) -> bool {
        self.switching = !self.waiting.is_empty();
        !self.switching
    }

    /// Entries up to `last` of the open ledger are durable; gives how many were before and how many are new.
    pub(crate) fn advance(&mut self, last: u64) -> (u64, u64) {
        let first = self.open.confirmed;
        self.open.confirmed = first.max(last.saturating_add(1));
        (first, self.open.confirmed - first)
    }

    /// Forgets the writer and everything that waits.
    pub(crate) fn clear(&mut self) {
        *self = Self { open: self.open, ..Self::default() };
    }

    pub(crate) fn has_writer(&self) -> bool {
        self.writer.is_some()
    }

    pub(crate) fn is_switching(&self) -> bool {
        self.switching
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    pub(crate) fn open(&self) -> &Open {
        &self.open
    }

    /// Whether entries were appended that are not confirmed.
    pub(crate) fn has_unconfirmed(&self) -> bool {
        self.open.confirmed < self.open.entries
    }
}
