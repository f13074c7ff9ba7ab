//! Writing back what was found, the original bytes, so that an ack quorum has every entry before the ledger is closed.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::{Dead, Defect, Error, Out, Recovery};
use crate::bookie::BookieId;
use crate::entry::Sealed;
use crate::ledger_metadata::Segment;
use crate::protocol::{Action, Call, Failure, Places, Purpose, Reply, Token};
use crate::quorum::Members;

#[derive(Debug, Default)]
pub(super) struct WriteBack {
    /// Entries after `written` that were found.
    pending: VecDeque<Pending>,
    /// Everything up to here is on an ack quorum.
    written: i64,
    /// Who holds entries from `written + 1` on. Written down when the ledger is closed, not before.
    pub(super) ensemble: Vec<BookieId>,
    /// The segments that replace the last one of the metadata.
    pub(super) segments: Vec<Segment>,
    dead: Dead,
}

#[derive(Debug)]
struct Pending {
    bytes: Bytes,
    acks: Members,
    failed: Members,
}

impl WriteBack {
    pub(super) fn new(segment: &Segment, written: i64) -> Self {
        Self {
            pending: VecDeque::new(),
            written,
            ensemble: segment.ensemble.clone(),
            segments: vec![segment.clone()],
            dead: Dead::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn bytes_of(&self, entry: i64) -> Option<Bytes> {
        self.get(entry).map(|pending| pending.bytes.clone())
    }

    fn get(&self, entry: i64) -> Option<&Pending> {
        usize::try_from(entry - self.written - 1).ok().and_then(|at| self.pending.get(at))
    }

    fn get_mut(&mut self, entry: i64) -> Option<&mut Pending> {
        usize::try_from(entry - self.written - 1).ok().and_then(|at| self.pending.get_mut(at))
    }

    /// Makes `ensemble` hold what is not written yet.
    fn change_to(&mut self, ensemble: Vec<BookieId>) {
        let first = self.written + 1;
        self.ensemble = ensemble.clone();
        match self.segments.last_mut() {
            Some(last) if last.first == first => last.ensemble = ensemble,
            _ => self.segments.push(Segment { first, ensemble }),
        }
    }
}

impl Recovery {
    /// Sends an entry to all of its write set, also to those that have it: until they say so, that is not known.
    pub(super) fn write(&mut self, sealed: Sealed, out: &mut Out) {
        let entry = sealed.header.entry;
        for index in self.quorum.write_set(entry) {
            self.send_back(index, entry, sealed.bytes.clone(), out);
        }
        let pending = Pending { bytes: sealed.bytes, acks: Members::NONE, failed: Members::NONE };
        self.write_back.pending.push_back(pending);
    }

    fn send_back(&self, index: usize, entry: i64, bytes: Bytes, out: &mut Out) {
        let token = Token { index, entry, purpose: Purpose::Store };
        out.push(Action::Send { to: self.write_back.ensemble[index].clone(), call: Call::WriteBack(bytes), token });
    }

    pub(super) fn stored(
        &mut self,
        from: &BookieId,
        token: Token,
        reply: Reply,
        places: &mut dyn Places,
        out: &mut Out,
    ) {
        self.busy.forget(token);
        if self.write_back.ensemble.get(token.index) != Some(from) {
            return;
        }
        let Some(pending) = self.write_back.get_mut(token.entry) else { return };
        match reply {
            Reply::Added => {
                pending.acks.insert(token.index);
                while self.write_back.pending.front().is_some_and(|head| head.acks.len() >= self.quorum.ack()) {
                    self.write_back.pending.pop_front();
                    self.write_back.written += 1;
                }
                self.decide(out);
            }
            Reply::Failed(failure) => self.replace(from, token, failure, places, out),
            Reply::Entry(_) | Reply::Entries(_) => self.replace(from, token, Failure::Disconnected, places, out),
        }
    }

    /// Somebody else takes the place of a bookie that failed; if there is nobody, those left have to do.
    fn replace(&mut self, from: &BookieId, token: Token, failure: Failure, places: &mut dyn Places, out: &mut Out) {
        self.write_back.dead.insert(from.clone());
        let failed = BTreeMap::from([(token.index, from.clone())]);
        let chosen = places.replace(&self.write_back.ensemble, &failed, &self.write_back.dead);
        let Some(successor) = chosen.get(&token.index) else {
            return self.go_without(from, token, failure, out);
        };
        let mut ensemble = self.write_back.ensemble.clone();
        if self.config.defects.has(Defect::ForgetsFirstReplacement) {
            ensemble.clone_from(&self.segment.ensemble);
        }
        ensemble[token.index] = successor.clone();
        self.write_back.change_to(ensemble);
        let mut resend = Vec::new();
        for (entry, pending) in (self.write_back.written + 1..).zip(&mut self.write_back.pending) {
            if self.quorum.holds(entry, token.index) {
                pending.acks.remove(token.index);
                pending.failed.remove(token.index);
                resend.push((entry, pending.bytes.clone()));
            }
        }
        for (entry, bytes) in resend {
            self.send_back(token.index, entry, bytes, out);
        }
    }

    fn go_without(&mut self, from: &BookieId, token: Token, failure: Failure, out: &mut Out) {
        let (write, ack) = (self.quorum.write(), self.quorum.ack());
        let Some(pending) = self.write_back.get_mut(token.entry) else { return };
        pending.failed.insert(token.index);
        if write - pending.failed.len() < ack {
            self.fail(Error::NotWritten { entry: token.entry, bookie: from.clone(), failure }, out);
        }
    }
}
