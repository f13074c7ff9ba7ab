//! Replacing failed members of the ensemble.
//!
//! While a change is under way nothing is acknowledged, so that the new segment begins at a known entry. Afterwards
//! every entry that is not acknowledged forgets what replaced members said, and goes to their successors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Error, Out, Writer};
use crate::bookie::BookieId;
use crate::directory::{Ask, Told};
use crate::ledger_metadata::{LedgerMetadata, State, Versioned};
use crate::protocol::defects::Defect;
use crate::protocol::{Action, Places, STORE_PAUSE, Wake};
use crate::quorum::Members;

#[derive(Debug)]
pub(super) struct Change {
    /// Who is being replaced.
    pub(super) failed: BTreeMap<usize, BookieId>,
    /// Who was replaced since the last release.
    replaced: Members,
    /// The ensemble to be.
    ensemble: Vec<BookieId>,
    /// Whether to read before writing: the outcome of a write is open, or it met another version.
    reads: bool,
    /// Waiting before asking again.
    pub(super) pausing: bool,
}

impl Writer {
    /// Begins to replace the noted members, unless a change is under way.
    pub(super) fn start_change(&mut self, places: &mut dyn Places, out: &mut Out) {
        let held = self.close.is_some() && (self.is_sealed() || self.config.defects.has(Defect::CloseStopsChanges));
        if self.over.is_some() || self.change.is_some() || held {
            return;
        }
        self.noted.retain(|index, bookie| self.ensemble.get(*index) == Some(bookie));
        self.begin(Members::NONE, places, out);
        self.proceed(out);
    }

    fn begin(&mut self, replaced: Members, places: &mut dyn Places, out: &mut Out) {
        let Some((_, lost)) = self.noted.first_key_value() else { return };
        self.changes += 1;
        if self.changes > self.config.max_changes && !self.config.defects.has(Defect::EndlessChanges) {
            return self.fail(Error::TooManyChanges(self.config.max_changes), out);
        }
        let chosen = places.replace(&self.ensemble, &self.noted, &BTreeSet::new());
        if chosen.is_empty() {
            let error = Error::NotEnoughBookies(lost.clone());
            return self.fail(error, out);
        }
        let mut change =
            Change { failed: BTreeMap::new(), replaced, ensemble: self.ensemble.clone(), reads: false, pausing: false };
        for (index, successor) in chosen {
            if let Some(lost) = self.noted.remove(&index) {
                change.failed.insert(index, lost);
                change.replaced.insert(index);
                change.ensemble[index] = successor;
            }
        }
        self.change = Some(change);
    }

    pub(super) fn change_asks(&mut self) -> Option<Ask> {
        let change = self.change.as_ref().filter(|change| !change.pausing && !self.is_sealed())?;
        if change.reads {
            return Some(Ask::Read);
        }
        let metadata = self.changed(&self.stored.metadata, &change.ensemble)?;
        Some(Ask::Write { version: self.stored.version, metadata: Arc::new(metadata) })
    }

    fn changed(&self, from: &LedgerMetadata, ensemble: &[BookieId]) -> Option<LedgerMetadata> {
        let mut metadata = from.clone();
        metadata.change_ensemble(self.acknowledged + 1, ensemble.to_vec()).then_some(metadata)
    }

    pub(super) fn change_told(&mut self, told: Told, places: &mut dyn Places, out: &mut Out) {
        let Some(change) = &mut self.change else { return };
        match told {
            Told::Written(version) => {
                let ensemble = change.ensemble.clone();
                match self.changed(&self.stored.metadata, &ensemble) {
                    Some(metadata) => self.changed_to(Versioned { metadata, version }, places, out),
                    None => self.fail(Error::Metadata("its last segment begins too late".into()), out),
                }
            }
            Told::Conflict | Told::Unknown => change.reads = true,
            Told::Found(found) if found.metadata.state != State::Open => self.fail(Error::Fenced, out),
            Told::Found(found) => {
                change.reads = false;
                let is_done = found.metadata.last_segment().ensemble == change.ensemble
                    && found.metadata.last_segment().first == self.acknowledged + 1;
                let is_before = found.metadata.last_segment() == self.stored.metadata.last_segment();
                if is_done {
                    self.changed_to((*found).clone(), places, out);
                } else if is_before {
                    // Somebody repaired an earlier segment, or the write never arrived: write on top of that.
                    self.stored = (*found).clone();
                } else {
                    self.fail(Error::Metadata("its last segment was changed by another".into()), out);
                }
            }
            Told::Absent => self.fail(Error::Deleted, out),
            Told::Corrupt(why) => self.fail(Error::Metadata(why), out),
            Told::Unavailable(_) => {
                change.pausing = true;
                out.push(Action::Wake { after: STORE_PAUSE, wake: Wake::Ask });
            }
        }
    }

    /// The change is written down.
    fn changed_to(&mut self, stored: Versioned, places: &mut dyn Places, out: &mut Out) {
        let Some(change) = self.change.take() else { return };
        self.stored = stored;
        self.ensemble = change.ensemble;
        self.guard.reset(change.replaced, self.quorum.ensemble());
        // Failures that came meanwhile are dealt with before anything is acknowledged.
        self.noted.retain(|index, bookie| self.ensemble.get(*index) == Some(bookie));
        if !self.noted.is_empty() {
            self.begin(change.replaced, places, out);
            return;
        }
        self.release(change.replaced, out);
    }

    fn release(&mut self, replaced: Members, out: &mut Out) {
        let first = self.acknowledged + 1;
        let mut resend = Vec::new();
        for (entry, pending) in (first..).zip(&mut self.pending) {
            for index in self.quorum.write_set(entry).filter(|index| replaced.contains(*index)) {
                if !self.config.defects.has(Defect::StaleAnswers) {
                    pending.acks.remove(index);
                }
                resend.push((index, entry, pending.frame.clone()));
            }
        }
        for (index, entry, frame) in resend {
            self.send(index, entry, frame, out);
        }
        self.advance(out);
    }
}
