//! What decides: writing, taking over and reading a ledger, without any I/O.
//!
//! A machine is told what happened (a bookie answered, the metadata store answered, a time is over) and says what to
//! do next by adding [`Action`]s to a list. Whoever runs it may lose, delay and repeat messages as a network does:
//! safety needs nothing of it but that answers are not invented, and progress needs that every [`Action::Send`] is
//! answered in the end, if only by [`Failure::TimedOut`].

pub mod defects;
pub mod read;
pub mod recovery;
pub mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;

use crate::bookie::BookieId;
use crate::directory::Ask;
use crate::wire::Status;

/// What a machine wants done. `E` is what it tells its owner.
#[derive(Clone, Debug)]
pub enum Action<E> {
    /// Ask a bookie, and hand its answer over with the token.
    Send {
        /// Whom.
        to: BookieId,
        /// What.
        call: Call,
        /// What the machine recognises the answer by.
        token: Token,
    },
    /// Ask the metadata store about the ledger. There is never more than one such question open.
    Ask(Ask),
    /// Hand `wake` over after that time.
    Wake {
        /// The time.
        after: Duration,
        /// What to hand over.
        wake: Wake,
    },
    /// Tell the owner.
    Tell(E),
}

/// A question to a bookie about one ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Store an entry; a fenced ledger refuses. The whole frame of the binary protocol.
    Add(Bytes),
    /// Store an entry found elsewhere, past the fence and with priority. The entry from its header on.
    WriteBack(Bytes),
    /// Return an entry.
    Read(i64),
    /// Fence the ledger, then return an entry, or the last for -1.
    FencingRead(i64),
    /// Return consecutive entries.
    Batch {
        /// The first.
        first: i64,
        /// At most so many.
        count: i32,
        /// At most so many bytes, but at least one entry.
        max_bytes: i64,
    },
}

/// A bookie's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The entry is stored durably.
    Added,
    /// The entry, as it lies there: nothing about it was checked.
    Entry(Bytes),
    /// Entries, as they lie there.
    Entries(Vec<Bytes>),
    /// It did not do it, or it is not known whether it did.
    Failed(Failure),
}

/// Why a bookie did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// It has nothing of the ledger.
    NoLedger,
    /// It does not have the entry.
    NoEntry,
    /// The ledger is fenced there.
    Fenced,
    /// The key is not that of the ledger, or the client is not let in.
    Unauthorized,
    /// It takes no writes.
    ReadOnly,
    /// Its queue is full.
    Busy,
    /// Anything else it said. That it lost its journal is among this: it says nothing about what it had.
    Error(Status),
    /// No answer came in time; one may still come.
    TimedOut,
    /// It cannot be reached, or the connection was lost.
    Disconnected,
}

impl Failure {
    /// What a status other than ok means.
    pub fn of(status: Status) -> Self {
        match status {
            Status::NoLedger => Self::NoLedger,
            Status::NoEntry => Self::NoEntry,
            Status::Fenced => Self::Fenced,
            Status::Unauthorized => Self::Unauthorized,
            Status::ReadOnly => Self::ReadOnly,
            Status::TooManyRequests => Self::Busy,
            other => Self::Error(other),
        }
    }

    /// Whether the bookie said that it does not have the entry. Silence and errors do not say that.
    pub fn is_negative(self) -> bool {
        matches!(self, Self::NoLedger | Self::NoEntry)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoLedger => f.write_str("no such ledger"),
            Self::NoEntry => f.write_str("no such entry"),
            Self::Fenced => f.write_str("fenced"),
            Self::Unauthorized => f.write_str("unauthorized"),
            Self::ReadOnly => f.write_str("read-only"),
            Self::Busy => f.write_str("too many requests"),
            Self::Error(status) => status.fmt(f),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Disconnected => f.write_str("not reachable"),
        }
    }
}

/// What a machine recognises an answer by, together with the bookie it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// The bookie's place in the ensemble.
    pub index: usize,
    /// The entry; -1 for the last.
    pub entry: i64,
    /// What was done.
    pub purpose: Purpose,
}

/// What a question was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To store an entry.
    Store,
    /// To fence.
    Fence,
    /// To find out whether an entry is there.
    Find,
    /// To read an entry known to be there.
    Read,
}

/// What is handed over when a time is over.
#[derive(Clone, Debug)]
pub enum Wake {
    /// A bookie that was busy can be asked again.
    Again {
        /// Whom.
        to: BookieId,
        /// What.
        call: Call,
        /// The token of the first attempt.
        token: Token,
    },
    /// The metadata store can be asked again.
    Ask,
    /// A replica has taken long; ask another one as well.
    Speculate,
}

/// Who may hold entries.
pub trait Places {
    /// A bookie in place of each of the `failed` members of `ensemble`: none of `ensemble`, none of `failed`, none of
    /// `avoid`, none twice. Members for which there is nobody are left out.
    fn replace(
        &mut self,
        ensemble: &[BookieId],
        failed: &BTreeMap<usize, BookieId>,
        avoid: &BTreeSet<BookieId>,
    ) -> BTreeMap<usize, BookieId>;
}

/// How often a busy bookie is asked again before it counts as failed.
const BUSY_ATTEMPTS: u32 = 8;

/// How long to wait before a busy bookie is asked for the `attempt`-th time again: 10 ms, doubling, at most 1 s.
fn busy_pause(attempt: u32) -> Duration {
    Duration::from_millis(10_u64.saturating_mul(1 << attempt.min(16))).min(Duration::from_secs(1))
}

/// How long to wait before the metadata store is asked again.
const STORE_PAUSE: Duration = Duration::from_millis(200);

/// Counts how often each question met a busy bookie.
#[derive(Debug, Default)]
struct Busy(BTreeMap<(usize, i64), u32>);

impl Busy {
    /// The pause before the next attempt; `None` when there were enough.
    fn pause(&mut self, token: Token) -> Option<Duration> {
        let attempts = self.0.entry((token.index, token.entry)).or_default();
        *attempts += 1;
        (*attempts <= BUSY_ATTEMPTS).then(|| busy_pause(*attempts))
    }

    fn forget(&mut self, token: Token) {
        self.0.remove(&(token.index, token.entry));
    }
}
