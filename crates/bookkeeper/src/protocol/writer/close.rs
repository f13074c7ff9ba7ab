//! Closing a ledger.

use std::sync::Arc;

use super::{Error, Event, Out, Writer};
use crate::directory::{Ask, Told};
use crate::ledger_metadata::{LedgerMetadata, State};
use crate::protocol::Action;

/// When the ledger is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// After the appends made so far are resolved.
    Drain,
    /// At what is acknowledged; the outcome of the rest stays open.
    Now,
}

#[derive(Debug)]
pub(super) struct Close {
    mode: Mode,
    /// Whether the end was chosen: nothing is acknowledged any more.
    sealed: bool,
    /// Whether to read before writing.
    reads: bool,
}

impl Writer {
    /// Closes the ledger; [`Event::Closed`] or [`Event::Failed`] follows.
    pub fn close(&mut self, mode: Mode, out: &mut Out) {
        if self.over.is_some() || self.close.is_some() {
            return;
        }
        self.close = Some(Close { mode, sealed: mode == Mode::Now, reads: false });
        if mode == Mode::Now && self.asking != Some(super::Asking::Change) {
            self.change = None;
        }
        self.proceed(out);
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.close.as_ref().is_some_and(|close| close.sealed)
    }

    fn closed(&self) -> LedgerMetadata {
        let mut metadata = self.stored.metadata.clone();
        metadata.state = State::Closed;
        metadata.last = self.acknowledged;
        metadata.length = self.acknowledged_length;
        metadata
    }

    pub(super) fn close_asks(&mut self) -> Option<Ask> {
        let is_drained = self.pending.is_empty() && self.change.is_none();
        let close = self.close.as_mut()?;
        if close.mode == Mode::Drain && !is_drained {
            return None;
        }
        close.sealed = true;
        // A change whose outcome was open when the end was chosen shows in the version; its ensemble is not used.
        self.change = None;
        if close.reads {
            return Some(Ask::Read);
        }
        Some(Ask::Write { version: self.stored.version, metadata: Arc::new(self.closed()) })
    }

    pub(super) fn close_told(&mut self, told: Told, out: &mut Out) {
        let (last, length) = (self.acknowledged, self.acknowledged_length);
        let Some(close) = &mut self.close else { return };
        match told {
            Told::Written(_) => self.end(last, length, out),
            Told::Conflict | Told::Unknown => close.reads = true,
            Told::Found(found) => match found.metadata.state {
                State::Closed if (found.metadata.last, found.metadata.length) == (last, length) => {
                    self.end(last, length, out);
                }
                // Whoever recovers it may have shown the application more than was acknowledged here.
                State::Closed | State::InRecovery => self.fail(Error::Fenced, out),
                State::Open => {
                    close.reads = false;
                    self.stored = (*found).clone();
                }
            },
            Told::Absent => self.fail(Error::Deleted, out),
            Told::Corrupt(why) => self.fail(Error::Metadata(why), out),
            Told::Unavailable(why) => self.fail(Error::Unavailable(why), out),
        }
    }

    fn end(&mut self, last: i64, length: i64, out: &mut Out) {
        self.pending.clear();
        self.trailing.clear();
        self.over = Some(Error::Closed);
        out.push(Action::Tell(Event::Closed { last, length }));
    }
}
