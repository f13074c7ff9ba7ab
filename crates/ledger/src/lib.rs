//! Append-only, fenced ledgers.
//!
//! A ledger is a numbered sequence of entries, dense from 0, written by one writer and read by anyone. The contract
//! here is shaped so that a replicated store can stand behind it: acknowledgements are asynchronous and in order,
//! several appends are outstanding, and whoever takes a ledger over fences the writer before it.
//!
//! A [`LedgerStore`] is used from one thread (a shard); each shard has its own, over the same engine.

use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use futures::future::LocalBoxFuture;

pub mod disk;
pub mod embedded;
mod error;
pub mod inspect;
pub mod memory;

pub use error::{AppendError, Error, ReadError};

/// The number of a ledger: unique in the store, increasing with creation, below 2⁶³.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerId(pub u64);

impl fmt::Display for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The term of an owner. A writer is bound to the epoch it was created with; a greater epoch fences it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// A stored entry. `bytes` shares the block it was written or read in: clones copy nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The entry's number in its ledger.
    pub id: u64,
    /// The entry as it was appended.
    pub bytes: Bytes,
}

/// What a writer appends.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// The entry's bytes; copied once, into the journal's block.
    pub bytes: &'a [u8],
    /// A CRC32C the caller has verified already, so that the store need not compute it again.
    pub verified: Option<Verified>,
}

/// The promise that the CRC32C of `bytes[skip..]` of a [`Body`] is `crc32c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many leading bytes the checksum leaves out; at most 255.
    pub skip: u8,
    /// The checksum of the rest.
    pub crc32c: u32,
}

impl<'a> From<&'a [u8]> for Body<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, verified: None }
    }
}

/// Who is told how a writer's appends went. Called on the writer's own shard, never from within `append`.
pub trait AppendSink {
    /// Every entry up to and including `last` is durable. `last` only grows.
    fn advanced(&self, last: u64);

    /// Nothing after the last `advanced` will be acknowledged. Called at most once; the writer is of no more use.
    fn failed(&self, error: AppendError);
}

/// The right to append to one ledger. Dropping it leaves the ledger open, to be recovered by its next owner.
pub trait LedgerWriter {
    /// The ledger written to.
    fn ledger(&self) -> LedgerId;

    /// Enqueues an entry and returns its number. Order of calls is order in the ledger. Durability is told to the
    /// sink.
    ///
    /// # Errors
    /// [`AppendError`] when the writer is fenced, closed or failed before; nothing was enqueued then.
    fn append(&mut self, body: Body<'_>) -> Result<u64, AppendError>;

    /// Seals the ledger after the appends made so far are resolved, and returns its final state.
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, Result<Closed, Error>>;
}

/// The final state of a sealed ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The last entry, `None` when the ledger is empty.
    pub last: Option<u64>,
    /// The sum of the entries' lengths, in bytes.
    pub length: u64,
}

/// What a new ledger is to be.
#[derive(Clone, Copy, Debug)]
pub struct CreateOptions {
    /// Chooses the journal: ledgers with one key share one.
    pub journal_key: u64,
    /// What it is for.
    pub class: Class,
}

/// What a ledger is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Messages: refused while there is no room for more.
    #[default]
    Messages,
    /// What was done with messages, such as their acknowledgement. It goes on in space held back when messages are
    /// refused: it is what makes room.
    State,
}

/// A store of ledgers, as seen from one shard.
pub trait LedgerStore {
    /// Makes a new ledger, owned under `epoch`.
    fn create(
        &self,
        epoch: Epoch,
        options: CreateOptions,
        sink: Rc<dyn AppendSink>,
    ) -> LocalBoxFuture<'static, Result<Box<dyn LedgerWriter>, Error>>;

    /// Adds the entries `first..=last` of `ledger` that are in memory to `out`, in order, without a gap, stopping
    /// after `max_bytes` (at least one entry is added if it is there). Returns how many were added; 0 means: use
    /// [`read`](Self::read). The caller asks only for entries it knows to be acknowledged.
    fn read_cached(&self, ledger: LedgerId, first: u64, last: u64, max_bytes: usize, out: &mut Vec<Entry>) -> usize;

    /// Reads entries `first..=last`, in order, without a gap, at least one and stopping after `max_bytes`.
    fn read(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Vec<Entry>, ReadError>>;

    /// Takes a ledger over: fences every writer of an epoch below `epoch`, then seals the ledger at the last entry
    /// that was or may have been acknowledged. Resolves after every earlier append is resolved. Idempotent.
    fn recover(&self, ledger: LedgerId, epoch: Epoch) -> LocalBoxFuture<'static, Result<Closed, Error>>;

    /// Deletes a ledger durably; deleting one that is not there succeeds.
    fn delete(&self, ledger: LedgerId) -> LocalBoxFuture<'static, Result<(), Error>>;

    /// The ledgers that are there, in ascending order.
    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<LedgerId>, Error>>;
}
