//! Reading entries that are known to be there.
//!
//! Replicas are asked one after the other, the next one when one fails or takes long; the first verified answer wins.
//! Where every replica has every entry, they are asked for many entries at once.

use std::sync::Arc;
use std::time::Duration;

use plerion_ledger::LedgerId;

use super::{Action, Call, Failure, Purpose, Reply, Token, Wake};
use crate::bookie::BookieId;
use crate::digest::Digester;
use crate::entry::{self, Mismatch, Sealed};
use crate::ledger_metadata::LedgerMetadata;
use crate::quorum::Members;

/// What a read is made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The ledger.
    pub ledger: LedgerId,
    /// Its digest.
    pub digester: Digester,
    /// Its metadata.
    pub metadata: Arc<LedgerMetadata>,
    /// The first entry.
    pub first: i64,
    /// The last entry; not beyond what is known to be acknowledged.
    pub last: i64,
    /// Stop after so many bytes of bodies, but not before one entry.
    pub max_bytes: usize,
    /// Which replica is asked first, so that one reader's reads go to one bookie.
    pub prefer: usize,
    /// Whether bookies may be asked for many entries at once.
    pub batches: bool,
    /// When to ask another replica as well.
    pub speculate: Option<Duration>,
}

/// What a read tells its owner; it tells one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// At least one entry, from the first on, in order and without a gap.
    Done(Vec<Sealed>),
    /// The first entry could not be read from anyone.
    Failed(Error),
}

/// Why an entry could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Every replica says that it does not have it.
    #[error("entry {entry}: no bookie has it; the last asked was {bookie}")]
    Missing {
        /// The entry.
        entry: i64,
        /// The last bookie asked.
        bookie: BookieId,
    },
    /// What was answered is not the entry.
    #[error("entry {entry}: what {bookie} has is damaged: {mismatch}")]
    Damaged {
        /// The entry.
        entry: i64,
        /// A bookie whose answer it is.
        bookie: BookieId,
        /// What is wrong with it.
        mismatch: Mismatch,
    },
    /// Somebody could not be asked. A retry makes sense.
    #[error("entry {entry}: {bookie} said: {failure}")]
    Failed {
        /// The entry.
        entry: i64,
        /// A bookie that failed.
        bookie: BookieId,
        /// How.
        failure: Failure,
    },
}

/// Entries asked for one at a time are asked for in groups of at most so many.
const GROUP: i64 = 16;

#[derive(Debug)]
struct Want {
    asked: usize,
    waiting: Members,
    found: Option<Sealed>,
    error: Option<Error>,
}

/// One read.
#[derive(Debug)]
pub struct Read {
    config: Config,
    last: i64,
    is_batch: bool,
    /// Whether a bookie hung up on a batch, as old ones do.
    hung_up: bool,
    wants: Vec<Want>,
    mismatches: u32,
    over: bool,
}

type Out = Vec<Action<Event>>;

impl Read {
    /// Begins.
    pub fn start(config: Config, out: &mut Out) -> Self {
        let last = config.last.min(config.metadata.end_of_segment(config.first)).max(config.first);
        let quorum = config.metadata.quorum;
        let is_batch = config.batches && quorum.ensemble() == quorum.write() && last > config.first;
        let mut read = Self { config, last, is_batch, hung_up: false, wants: Vec::new(), mismatches: 0, over: false };
        read.begin(out);
        read
    }

    /// Answers that were not the entry asked for, so far.
    pub fn mismatches(&self) -> u32 {
        self.mismatches
    }

    /// Whether bookies hung up on being asked for many entries.
    pub fn hung_up(&self) -> bool {
        self.hung_up
    }

    fn begin(&mut self, out: &mut Out) {
        let count = if self.is_batch { 1 } else { (self.last - self.config.first + 1).min(GROUP) };
        self.wants = (0..count).map(|_| Want { asked: 0, waiting: Members::NONE, found: None, error: None }).collect();
        for at in 0..self.wants.len() {
            self.ask_next(at, out);
        }
        if let Some(after) = self.config.speculate {
            out.push(Action::Wake { after, wake: Wake::Speculate });
        }
    }

    /// Asks the next replica for an entry; says whether there is one.
    fn ask_next(&mut self, at: usize, out: &mut Out) -> bool {
        let entry = self.config.first + at as i64;
        let quorum = self.config.metadata.quorum;
        let turn = if quorum.ensemble() == quorum.write() {
            // Any order will do: the same for all entries.
            (self.config.prefer as i64 - entry).rem_euclid(quorum.ensemble() as i64) as usize
        } else {
            0
        };
        let want = &mut self.wants[at];
        if want.asked >= quorum.write() {
            return false;
        }
        let Some(index) = quorum.write_set(entry).nth((want.asked + turn) % quorum.write()) else { return false };
        want.asked += 1;
        want.waiting.insert(index);
        let to = self.config.metadata.segment_of(entry).ensemble[index].clone();
        let call = if self.is_batch {
            Call::Batch {
                first: entry,
                count: i32::try_from(self.last - entry + 1).unwrap_or(i32::MAX),
                max_bytes: i64::try_from(self.config.max_bytes).unwrap_or(i64::MAX),
            }
        } else {
            Call::Read(entry)
        };
        out.push(Action::Send { to, call, token: Token { index, entry, purpose: Purpose::Read } });
        true
    }

    /// A bookie answered.
    pub fn on_reply(&mut self, from: &BookieId, token: Token, reply: Reply, out: &mut Out) {
        let Ok(at) = usize::try_from(token.entry - self.config.first) else { return };
        let entry = token.entry;
        let Some(want) = self.wants.get_mut(at) else { return };
        if self.over || want.found.is_some() || !want.waiting.contains(token.index) {
            return;
        }
        want.waiting.remove(token.index);
        let answers = match reply {
            Reply::Entry(bytes) => vec![bytes],
            Reply::Entries(entries) => entries,
            Reply::Added => Vec::new(),
            Reply::Failed(failure) => {
                self.hung_up |= self.is_batch && failure == Failure::Disconnected;
                let error = if failure.is_negative() {
                    Error::Missing { entry, bookie: from.clone() }
                } else {
                    Error::Failed { entry, bookie: from.clone(), failure }
                };
                return self.failed(at, error, out);
            }
        };
        let mut found = Vec::new();
        // What lies beyond the last entry is not part of the ledger, whatever a bookie has.
        for (id, bytes) in (entry..=self.last).zip(&answers) {
            match entry::open(&self.config.digester, self.config.ledger, Some(id), bytes) {
                Ok(sealed) => found.push(sealed),
                Err(mismatch) => {
                    self.mismatches += 1;
                    if found.is_empty() {
                        let error = Error::Damaged { entry, bookie: from.clone(), mismatch };
                        return self.failed(at, error, out);
                    }
                    break;
                }
            }
        }
        if found.is_empty() {
            return self.failed(at, Error::Missing { entry, bookie: from.clone() }, out);
        }
        if self.is_batch {
            return self.done(found, out);
        }
        want.found = found.into_iter().next();
        self.settle(out);
    }

    /// A time is over.
    pub fn on_wake(&mut self, wake: &Wake, out: &mut Out) {
        if self.over || !matches!(wake, Wake::Speculate) {
            return;
        }
        let mut asked = false;
        for at in 0..self.wants.len() {
            asked |= self.wants[at].found.is_none() && self.ask_next(at, out);
        }
        if let Some(after) = self.config.speculate.filter(|_| asked) {
            out.push(Action::Wake { after, wake: Wake::Speculate });
        }
    }

    fn failed(&mut self, at: usize, error: Error, out: &mut Out) {
        let want = &mut self.wants[at];
        // That nobody has it is said only if nothing else went wrong.
        let is_better = matches!(
            (&want.error, &error),
            (None | Some(Error::Missing { .. }), _) | (Some(Error::Damaged { .. }), Error::Failed { .. })
        );
        if is_better {
            want.error = Some(error);
        }
        if !self.ask_next(at, out) {
            self.settle(out);
        }
    }

    /// Ends the read when every entry is found or lost.
    fn settle(&mut self, out: &mut Out) {
        if self.wants.iter().any(|want| want.found.is_none() && !want.waiting.is_empty()) {
            return;
        }
        if self.is_batch && self.hung_up {
            self.is_batch = false;
            return self.begin(out);
        }
        let mut found = Vec::new();
        let mut bytes = 0;
        for want in &mut self.wants {
            let Some(sealed) = want.found.take() else { break };
            bytes += sealed.body.len();
            if !found.is_empty() && bytes > self.config.max_bytes {
                break;
            }
            found.push(sealed);
        }
        match self.wants.first_mut().and_then(|first| first.error.take()) {
            Some(error) if found.is_empty() => {
                self.over = true;
                out.push(Action::Tell(Event::Failed(error)));
            }
            _ => self.done(found, out),
        }
    }

    fn done(&mut self, mut found: Vec<Sealed>, out: &mut Out) {
        self.over = true;
        let mut bytes = 0;
        let fits = found.iter().take_while(|sealed| {
            bytes += sealed.body.len();
            bytes <= self.config.max_bytes
        });
        let count = fits.count().max(1);
        found.truncate(count);
        out.push(Action::Tell(Event::Done(found)));
    }
}
