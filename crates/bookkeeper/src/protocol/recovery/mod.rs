//! Taking a ledger over: fence its writer, find its end, close it.
//!
//! ```text
//! read ─► mark (in recovery) ─► fence the last ensemble ─► find entries beyond what is known to be acknowledged ─►
//! write them back ─► close
//! ```
//! Any number of clients may do this at the same time, and each may stop anywhere: the metadata is changed by
//! compare-and-set only, what is written back are the original bytes, and whoever closes second adopts the first's end.

mod close;
mod find;
mod write_back;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use plerion_ledger::LedgerId;

use super::defects::{Defect, Defects};
use super::{Action, Busy, Call, Failure, Places, Purpose, Reply, Token, Wake};
use crate::bookie::BookieId;
use crate::digest::{DigestType, Digester};
use crate::directory::{Ask, Told};
use crate::entry::{self, NONE};
use crate::ledger_metadata::{LedgerMetadata, Segment, State, Versioned};
use crate::quorum::{Members, Quorum};

use find::Find;
use write_back::WriteBack;

/// The custom key under which a ledger's owner writes its term down, in decimal.
pub const EPOCH_KEY: &str = "plerion/epoch";

/// How often recovery begins anew because somebody else changed the metadata.
const MAX_RESTARTS: u32 = 16;

/// What a recovery is made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The ledger.
    pub ledger: LedgerId,
    /// The password, which has to be that of the ledger.
    pub password: Bytes,
    /// The digest of ledgers that do not say theirs.
    pub digest: DigestType,
    /// The term of whoever takes the ledger over, unless terms are not used.
    pub epoch: Option<u64>,
    /// How many entries are read and written back at once.
    pub window: usize,
    /// For tests.
    pub defects: Defects,
}

/// What a recovery tells its owner; it tells one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The ledger is closed, by this recovery or another one, as the metadata says.
    Done(Arc<LedgerMetadata>),
    /// The ledger is not closed; anybody may try again.
    Failed(Error),
}

/// Why a recovery did not come to an end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such ledger.
    #[error("there is no such ledger")]
    NoLedger,
    /// A later term owns the ledger.
    #[error("it is owned by term {0}")]
    Owned(u64),
    /// The password is not that of the ledger.
    #[error("the password is not that of the ledger")]
    Password,
    /// A bookie did not accept the password.
    #[error("bookie {0} does not accept the ledger's password, or does not let this client in")]
    Unauthorized(BookieId),
    /// Too many bookies were silent for the ledger to be fenced.
    #[error("too few bookies could be fenced; {bookie}, for one, said: {failure}")]
    NotFenced {
        /// One that failed.
        bookie: BookieId,
        /// How.
        failure: Failure,
    },
    /// It could not be found out whether an entry is there.
    #[error("it cannot be told whether there is an entry {entry}; {bookie}, for one, said: {failure}")]
    Undecided {
        /// The entry.
        entry: i64,
        /// A bookie that failed.
        bookie: BookieId,
        /// How.
        failure: Failure,
    },
    /// An entry could not be written to enough bookies.
    #[error("entry {entry} cannot be written to enough bookies; {bookie}, for one, said: {failure}")]
    NotWritten {
        /// The entry.
        entry: i64,
        /// A bookie that failed.
        bookie: BookieId,
        /// How.
        failure: Failure,
    },
    /// The last entry could not be read.
    #[error("entry {entry}, which is acknowledged, cannot be read; {bookie}, for one, said: {failure}")]
    Unreadable {
        /// The entry.
        entry: i64,
        /// A bookie that failed.
        bookie: BookieId,
        /// How.
        failure: Failure,
    },
    /// The metadata store could not be asked.
    #[error("the metadata store says: {0}")]
    Unavailable(Arc<str>),
    /// The metadata cannot be understood.
    #[error("{0}")]
    Corrupt(Arc<str>),
    /// Others change the metadata all the time.
    #[error("the metadata was changed by others {MAX_RESTARTS} times")]
    Contended,
    /// Somebody else recovers or has recovered the ledger.
    #[error("somebody else recovers it")]
    Refused,
}

#[derive(Debug)]
enum Phase {
    /// The metadata is being read.
    Looking,
    /// It is being marked.
    Marking,
    /// The bookies are being fenced.
    Fencing(Fencing),
    /// The end is being found, and entries are written back.
    Finding,
    /// The length is being read.
    Measuring { waiting: usize },
    /// It is being closed.
    Closing,
    /// It was told how it ended.
    Over,
}

#[derive(Debug, Default)]
struct Fencing {
    waiting: Members,
    answered: Members,
    failed: Option<(BookieId, Failure)>,
}

/// One attempt at taking a ledger over.
#[derive(Debug)]
pub struct Recovery {
    config: Config,
    phase: Phase,
    restarts: u32,
    /// The metadata as last read or written; `None` before.
    stored: Option<Versioned>,
    digester: Digester,
    quorum: Quorum,
    /// The segment that is fenced and searched.
    segment: Segment,
    /// The greatest entry that a bookie of it knows to be acknowledged.
    lac: i64,
    /// The length in the answer that told it.
    lac_length: i64,
    /// The length in the header of the last entry found.
    found_length: Option<i64>,
    find: Find,
    write_back: WriteBack,
    busy: Busy,
}

type Out = Vec<Action<Event>>;

impl Recovery {
    /// Begins.
    pub fn start(config: Config, out: &mut Out) -> Self {
        out.push(Action::Ask(Ask::Read));
        let digester = Digester::new(config.digest, &config.password);
        Self {
            config,
            phase: Phase::Looking,
            restarts: 0,
            stored: None,
            digester,
            quorum: Quorum::ONE,
            segment: Segment { first: 0, ensemble: Vec::new() },
            lac: NONE,
            lac_length: 0,
            found_length: None,
            find: Find::default(),
            write_back: WriteBack::default(),
            busy: Busy::default(),
        }
    }

    /// Whether it told how it ended.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    fn fail(&mut self, error: Error, out: &mut Out) {
        self.phase = Phase::Over;
        out.push(Action::Tell(Event::Failed(error)));
    }

    fn done(&mut self, metadata: LedgerMetadata, out: &mut Out) {
        self.phase = Phase::Over;
        out.push(Action::Tell(Event::Done(Arc::new(metadata))));
    }

    fn restart(&mut self, out: &mut Out) {
        self.restarts += 1;
        if self.restarts > MAX_RESTARTS {
            return self.fail(Error::Contended, out);
        }
        self.phase = Phase::Looking;
        out.push(Action::Ask(Ask::Read));
    }

    /// The metadata store answered.
    pub fn on_told(&mut self, told: Told, out: &mut Out) {
        match (&self.phase, told) {
            (Phase::Over, _) => {}
            (_, Told::Absent) => self.fail(Error::NoLedger, out),
            (_, Told::Corrupt(why)) => self.fail(Error::Corrupt(why), out),
            (_, Told::Unavailable(why)) => self.fail(Error::Unavailable(why), out),
            (Phase::Looking, Told::Found(found)) => self.found((*found).clone(), out),
            (Phase::Marking, Told::Written(version)) => {
                if let Some(stored) = &mut self.stored {
                    stored.version = version;
                }
                self.fence(out);
            }
            (Phase::Marking, Told::Conflict | Told::Unknown) => self.restart(out),
            (Phase::Closing, told) => self.close_told(told, out),
            _ => {}
        }
    }

    fn found(&mut self, found: Versioned, out: &mut Out) {
        let metadata = &found.metadata;
        if metadata.password != self.config.password {
            return self.fail(Error::Password, out);
        }
        if let Some(owner) = newer_owner(metadata, self.config.epoch) {
            return self.fail(Error::Owned(owner), out);
        }
        self.quorum = metadata.quorum;
        self.digester = Digester::new(metadata.digest.unwrap_or(self.config.digest), &self.config.password);
        let is_marked = metadata.state == State::InRecovery
            && self.config.epoch.is_none_or(|epoch| epoch_of(metadata) == Some(epoch));
        match metadata.state {
            State::Closed => self.done(found.metadata, out),
            State::InRecovery if self.config.defects.has(Defect::GivesUpOnRecoveryBegun) => {
                self.fail(Error::Refused, out);
            }
            _ if is_marked => {
                self.stored = Some(found);
                self.fence(out);
            }
            State::Open | State::InRecovery => {
                let mut marked = found;
                marked.metadata.state = State::InRecovery;
                if let Some(epoch) = self.config.epoch {
                    marked.metadata.set_custom(EPOCH_KEY, Bytes::from(epoch.to_string()));
                }
                self.phase = Phase::Marking;
                let metadata = Arc::new(marked.metadata.clone());
                out.push(Action::Ask(Ask::Write { version: marked.version, metadata }));
                self.stored = Some(marked);
            }
        }
    }

    fn fence(&mut self, out: &mut Out) {
        let Some(stored) = &self.stored else { return };
        self.segment = stored.metadata.last_segment().clone();
        self.lac = self.segment.first - 1;
        self.lac_length = 0;
        self.found_length = None;
        self.busy = Busy::default();
        let waiting = (0..self.quorum.ensemble()).collect();
        self.phase = Phase::Fencing(Fencing { waiting, ..Fencing::default() });
        for (index, to) in self.segment.ensemble.iter().cloned().enumerate() {
            let token = Token { index, entry: NONE, purpose: Purpose::Fence };
            out.push(Action::Send { to, call: Call::FencingRead(NONE), token });
        }
    }

    /// A bookie answered.
    pub fn on_reply(&mut self, from: &BookieId, token: Token, reply: Reply, places: &mut dyn Places, out: &mut Out) {
        if self.is_over() {
            return;
        }
        if reply == Reply::Failed(Failure::Unauthorized) {
            return self.fail(Error::Unauthorized(from.clone()), out);
        }
        if reply == Reply::Failed(Failure::Busy)
            && let Some(call) = self.call_of(token)
            && let Some(after) = self.busy.pause(token)
        {
            out.push(Action::Wake { after, wake: Wake::Again { to: from.clone(), call, token } });
            return;
        }
        let is_member = self.segment.ensemble.get(token.index) == Some(from);
        match (token.purpose, &self.phase) {
            (Purpose::Fence, Phase::Fencing(_)) if is_member => self.fenced(from, token.index, reply, out),
            (Purpose::Find, Phase::Finding) if is_member => self.searched(from, token, reply, out),
            (Purpose::Store, Phase::Finding) => self.stored(from, token, reply, places, out),
            (Purpose::Read, Phase::Measuring { .. }) => self.measured(from, token, reply, out),
            _ => {}
        }
    }

    /// A time is over.
    pub fn on_wake(&mut self, wake: Wake, out: &mut Out) {
        if let Wake::Again { to, call, token } = wake
            && !self.is_over()
        {
            out.push(Action::Send { to, call, token });
        }
    }

    /// What was asked with this token.
    fn call_of(&self, token: Token) -> Option<Call> {
        match token.purpose {
            Purpose::Fence => Some(Call::FencingRead(NONE)),
            Purpose::Find => Some(self.search_call(token.entry)),
            Purpose::Store => self.write_back.bytes_of(token.entry).map(Call::WriteBack),
            Purpose::Read => Some(Call::Read(token.entry)),
        }
    }

    fn fenced(&mut self, from: &BookieId, index: usize, reply: Reply, out: &mut Out) {
        let Phase::Fencing(fencing) = &mut self.phase else { return };
        if !fencing.waiting.contains(index) {
            return;
        }
        fencing.waiting.remove(index);
        match reply {
            Reply::Entry(bytes) => {
                // It is fenced whatever the entry is like; one that is damaged tells nothing more.
                fencing.answered.insert(index);
                match entry::open(&self.digester, self.config.ledger, None, &bytes) {
                    Ok(last) if last.header.lac > self.lac => {
                        (self.lac, self.lac_length) = (last.header.lac, last.header.length);
                    }
                    Ok(last) if last.header.lac == self.lac => self.lac_length = last.header.length,
                    _ => {}
                }
            }
            Reply::Failed(failure) if failure.is_negative() => {
                fencing.answered.insert(index);
            }
            Reply::Failed(failure) => fencing.failed = Some((from.clone(), failure)),
            Reply::Added | Reply::Entries(_) => fencing.failed = Some((from.clone(), Failure::Disconnected)),
        }
        let is_covered = if self.config.defects.has(Defect::WeakCoverage) {
            (0..self.quorum.ensemble()).all(|first| {
                let answered = fencing.answered;
                let set = self.quorum.write_set(first as i64);
                set.filter(|index| answered.contains(*index)).count() >= self.quorum.ack()
            })
        } else {
            self.quorum.is_covered_by(fencing.answered)
        };
        if is_covered {
            self.begin_search(out);
        } else if fencing.waiting.is_empty()
            && let Some((bookie, failure)) = fencing.failed.take()
        {
            self.fail(Error::NotFenced { bookie, failure }, out);
        }
    }
}

fn epoch_of(metadata: &LedgerMetadata) -> Option<u64> {
    metadata.custom(EPOCH_KEY).and_then(|value| std::str::from_utf8(value).ok()?.parse().ok())
}

/// The term of the ledger's owner, if it is later than `epoch`.
fn newer_owner(metadata: &LedgerMetadata, epoch: Option<u64>) -> Option<u64> {
    let (owner, epoch) = (epoch_of(metadata)?, epoch?);
    (owner > epoch).then_some(owner)
}

/// The bookies that failed, which are not chosen again.
type Dead = BTreeSet<BookieId>;
