//! Finding the end: entry by entry, until one is known never to have been acknowledged.

use std::collections::BTreeMap;

use super::{Defect, Error, Out, Phase, Recovery, WriteBack};
use crate::bookie::BookieId;
use crate::entry::{self, NONE, Sealed};
use crate::protocol::{Action, Call, Failure, Purpose, Reply, Token};
use crate::quorum::Members;

#[derive(Debug, Default)]
pub(super) struct Find {
    /// The entries that are being looked for.
    searches: BTreeMap<i64, Search>,
    /// The first entry that is not decided.
    pub(super) next: i64,
    /// The last entry, once it is known.
    pub(super) end: Option<i64>,
}

#[derive(Debug, Default)]
struct Search {
    waiting: Members,
    /// Members that said, to a read that fenced them, that they do not have it. None is counted twice.
    negative: Members,
    found: Option<Sealed>,
    failed: Option<(BookieId, Failure)>,
}

impl Recovery {
    pub(super) fn begin_search(&mut self, out: &mut Out) {
        self.phase = Phase::Finding;
        self.find = Find { next: self.lac + 1, ..Find::default() };
        self.write_back = WriteBack::new(&self.segment, self.lac);
        self.search_more(out);
    }

    pub(super) fn search_call(&self, entry: i64) -> Call {
        let defects = self.config.defects;
        if defects.has(Defect::PlainRecoveryReads) || defects.has(Defect::WeakCoverage) {
            Call::Read(entry)
        } else {
            Call::FencingRead(entry)
        }
    }

    /// Looks for as many entries as the window allows, at all bookies that may have them.
    fn search_more(&mut self, out: &mut Out) {
        let window = if self.config.defects.has(Defect::OneAtATime) { 1 } else { self.config.window.max(1) };
        while self.find.end.is_none() && self.find.searches.len() + self.write_back.len() < window {
            let entry = self.find.next + self.find.searches.len() as i64;
            self.find
                .searches
                .insert(entry, Search { waiting: self.quorum.write_set(entry).collect(), ..Search::default() });
            for index in self.quorum.write_set(entry) {
                let token = Token { index, entry, purpose: Purpose::Find };
                let to = self.segment.ensemble[index].clone();
                out.push(Action::Send { to, call: self.search_call(entry), token });
            }
        }
    }

    pub(super) fn searched(&mut self, from: &BookieId, token: Token, reply: Reply, out: &mut Out) {
        self.busy.forget(token);
        let defects = self.config.defects;
        let Some(search) = self.find.searches.get_mut(&token.entry) else { return };
        if !search.waiting.contains(token.index) {
            return;
        }
        search.waiting.remove(token.index);
        match reply {
            Reply::Entry(bytes) => {
                match entry::open(&self.digester, self.config.ledger, Some(token.entry), &bytes) {
                    Ok(sealed) => search.found = Some(sealed),
                    Err(_) if defects.has(Defect::MismatchIsAbsence) => {
                        search.negative.insert(token.index);
                    }
                    // Neither found nor absent.
                    Err(_) => search.failed = Some((from.clone(), Failure::NoEntry)),
                }
            }
            Reply::Failed(failure) if failure.is_negative() || defects.has(Defect::SilenceIsAbsence) => {
                search.negative.insert(token.index);
            }
            Reply::Failed(failure) => search.failed = Some((from.clone(), failure)),
            Reply::Added | Reply::Entries(_) => search.failed = Some((from.clone(), Failure::Disconnected)),
        }
        self.decide(out);
    }

    /// Decides entry after entry. What was read ahead of an absent one is dropped.
    pub(super) fn decide(&mut self, out: &mut Out) {
        let absent = if self.config.defects.has(Defect::FirstAbsenceDecides) { 1 } else { self.quorum.absent() };
        while self.find.end.is_none() {
            let Some(search) = self.find.searches.get_mut(&self.find.next) else { break };
            if let Some(sealed) = search.found.take() {
                self.find.searches.remove(&self.find.next);
                self.find.next += 1;
                self.found_length = Some(sealed.header.length);
                self.write(sealed, out);
            } else if search.negative.len() >= absent {
                self.find.end = Some(self.find.next - 1);
                self.find.searches.clear();
            } else if search.waiting.is_empty() {
                let entry = self.find.next;
                let (bookie, failure) =
                    search.failed.take().unwrap_or_else(|| (self.segment.ensemble[0].clone(), Failure::NoEntry));
                return self.fail(Error::Undecided { entry, bookie, failure }, out);
            } else {
                break;
            }
        }
        self.search_more(out);
        self.finish(out);
    }

    /// Goes on to close once everything up to the end is written back.
    pub(super) fn finish(&mut self, out: &mut Out) {
        let Some(end) = self.find.end.filter(|_| self.write_back.is_done()) else { return };
        if end == NONE {
            return self.close(end, 0, out);
        }
        match self.found_length {
            _ if self.config.defects.has(Defect::LengthFromLac) && self.find.next == self.lac + 1 => {
                self.close(end, self.lac_length, out);
            }
            Some(length) => self.close(end, length, out),
            None => self.measure(end, out),
        }
    }

    /// Nothing was found beyond what is known to be acknowledged: the length is in that entry's own header.
    fn measure(&mut self, entry: i64, out: &mut Out) {
        let Some(stored) = &self.stored else { return };
        let ensemble = &stored.metadata.segment_of(entry).ensemble;
        let mut waiting = 0;
        for index in self.quorum.write_set(entry) {
            let token = Token { index, entry, purpose: Purpose::Read };
            out.push(Action::Send { to: ensemble[index].clone(), call: Call::Read(entry), token });
            waiting += 1;
        }
        self.phase = Phase::Measuring { waiting };
    }

    pub(super) fn measured(&mut self, from: &BookieId, token: Token, reply: Reply, out: &mut Out) {
        let (Phase::Measuring { waiting }, Some(end)) = (&mut self.phase, self.find.end) else { return };
        if token.entry != end {
            return;
        }
        *waiting = waiting.saturating_sub(1);
        let is_last = *waiting == 0;
        let failure = match reply {
            Reply::Entry(bytes) => match entry::open(&self.digester, self.config.ledger, Some(end), &bytes) {
                Ok(sealed) => return self.close(end, sealed.header.length, out),
                Err(_) => Failure::NoEntry,
            },
            Reply::Failed(failure) => failure,
            Reply::Added | Reply::Entries(_) => Failure::Disconnected,
        };
        if is_last {
            self.fail(Error::Unreadable { entry: end, bookie: from.clone(), failure }, out);
        }
    }
}
