//! Whether somebody can have taken the ledger over without the bookies remembering.
//!
//! A bookie that holds nothing of a ledger forgets at its restart that the ledger is fenced. Until every member of
//! the ensemble is known to hold an entry, an ack quorum therefore proves nothing: the metadata is read again *after*
//! the ack quorum, and only if the ledger is still open is the entry acknowledged. Recovery marks the metadata before
//! it fences, so a recovery that this read does not see will find the entry.
//!
//! The guard is lifted by a read that was begun when every member held an entry: a recovery that began before would
//! have been seen by it, and the fences of one that begins later are durable.

use super::{Error, Out, Writer};
use crate::directory::{Ask, Told};
use crate::entry::NONE;
use crate::ledger_metadata::State;
use crate::protocol::defects::Defect;
use crate::protocol::{Action, STORE_PAUSE, Wake};
use crate::quorum::Members;

#[derive(Debug)]
pub(super) struct Guard {
    /// Members of the ensemble that are known to hold an entry.
    pub(super) holds: Members,
    /// Whether an ack quorum is enough.
    lifted: bool,
    /// Entries up to this one may be acknowledged.
    cleared: i64,
    /// What the open question will clear, and whether it will lift the guard.
    asked: Option<(i64, bool)>,
    /// Waiting before asking again.
    pub(super) pausing: bool,
}

impl Default for Guard {
    fn default() -> Self {
        Self { holds: Members::NONE, lifted: false, cleared: NONE, asked: None, pausing: false }
    }
}

impl Guard {
    /// The members at `replaced` are new and hold nothing.
    pub(super) fn reset(&mut self, replaced: Members, ensemble: usize) {
        for index in (0..ensemble).filter(|index| replaced.contains(*index)) {
            self.holds.remove(index);
        }
        *self = Self { holds: self.holds, pausing: self.pausing, ..Self::default() };
    }
}

impl Writer {
    pub(super) fn guard_allows(&self, entry: i64) -> bool {
        self.guard.lifted || entry <= self.guard.cleared || self.config.defects.has(Defect::NoGuard)
    }

    /// Entries that only the guard holds back make it ask, and that every member holds one.
    pub(super) fn guard_asks(&mut self) -> Option<Ask> {
        let is_off = self.config.defects.has(Defect::NoGuard);
        if is_off || self.guard.lifted || self.guard.pausing || self.change.is_some() || self.is_sealed() {
            return None;
        }
        let complete = self.pending.iter().take_while(|entry| entry.acks.len() >= self.quorum.ack()).count();
        let last = self.acknowledged + complete as i64;
        // Once every member holds an entry, the guard is lifted even if nothing waits for it, so that later appends
        // do not need the metadata store.
        let lifts = self.guard.holds.len() == self.quorum.ensemble();
        let is_held_back = complete > 0 && !self.guard_allows(self.acknowledged + 1);
        if !is_held_back && !lifts {
            return None;
        }
        self.guard.asked = Some((last, lifts));
        Some(Ask::Read)
    }

    pub(super) fn guard_told(&mut self, told: Told, out: &mut Out) {
        // An ensemble change that came between has made the answer void.
        let asked = self.guard.asked.take();
        match told {
            Told::Found(found) if found.metadata.state != State::Open => self.fail(Error::Fenced, out),
            Told::Found(found) => {
                if found.metadata.last_segment() != self.stored.metadata.last_segment() {
                    return self.fail(Error::Metadata("its last segment was changed by another".into()), out);
                }
                self.stored = (*found).clone();
                if let Some((cleared, lifts)) = asked {
                    self.guard.cleared = cleared;
                    self.guard.lifted = lifts;
                }
                self.advance(out);
            }
            Told::Absent => self.fail(Error::Deleted, out),
            Told::Corrupt(why) => self.fail(Error::Metadata(why), out),
            Told::Unavailable(_) | Told::Unknown | Told::Conflict | Told::Written(_) => {
                self.guard.pausing = true;
                out.push(Action::Wake { after: STORE_PAUSE, wake: Wake::Ask });
            }
        }
    }
}
