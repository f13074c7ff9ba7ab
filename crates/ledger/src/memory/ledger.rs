//! One ledger of the memory store.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::{AppendError, Closed, Entry, Epoch, LedgerId};

pub(super) struct Ledger {
    pub(super) epoch: Epoch,
    pub(super) entries: Vec<Bytes>,
    pub(super) acknowledged: usize,
    pub(super) corrupt: BTreeSet<u64>,
    pub(super) sealed: bool,
    /// Why the writer gets no further acknowledgement, beyond those of `acknowledged`.
    pub(super) failure: Option<AppendError>,
}

impl Ledger {
    pub(super) fn new(epoch: Epoch) -> Self {
        Self { epoch, entries: Vec::new(), acknowledged: 0, corrupt: BTreeSet::new(), sealed: false, failure: None }
    }

    pub(super) fn acknowledge(&mut self, count: usize) {
        if !matches!(self.failure, Some(AppendError::Indeterminate { .. })) {
            self.acknowledged = self.acknowledged.saturating_add(count).min(self.entries.len());
        }
    }

    pub(super) fn fail(&mut self, error: AppendError) {
        if !self.sealed {
            self.failure.get_or_insert(error);
        }
    }

    /// Whether every append has been acknowledged or never will be.
    pub(super) fn is_resolved(&self) -> bool {
        self.acknowledged == self.entries.len() || matches!(self.failure, Some(AppendError::Indeterminate { .. }))
    }

    pub(super) fn fence(&mut self, id: LedgerId, by: Epoch) {
        let error = if by > self.epoch { AppendError::Fenced { ledger: id, by } } else { AppendError::Closed(id) };
        self.epoch = by;
        self.fail(error);
    }

    pub(super) fn seal(&mut self) -> Closed {
        self.sealed = true;
        self.acknowledged = self.entries.len();
        self.closed()
    }

    pub(super) fn crash(&mut self, kept: usize) {
        if !self.sealed {
            self.entries.truncate(self.acknowledged.saturating_add(kept));
            self.acknowledged = self.entries.len();
            self.failure = None;
        }
    }

    pub(super) fn closed(&self) -> Closed {
        let length = self.entries.iter().map(|entry| entry.len() as u64).sum();
        Closed { last: (self.entries.len() as u64).checked_sub(1), length }
    }

    /// The entries `first..=last`, up to a corrupt one, at least one if it is there, stopping after `max_bytes`.
    pub(super) fn read(&self, first: u64, last: u64, max_bytes: usize, out: &mut Vec<Entry>) -> usize {
        let (mut count, mut bytes) = (0, 0);
        for id in first..=last {
            let Some(entry) = self.entries.get(id as usize) else { break };
            if self.corrupt.contains(&id) || (count > 0 && bytes + entry.len() > max_bytes) {
                break;
            }
            bytes += entry.len();
            count += 1;
            out.push(Entry { id, bytes: entry.clone() });
        }
        count
    }
}
