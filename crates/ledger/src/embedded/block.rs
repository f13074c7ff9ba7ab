//! Blocks: the memory entries are copied into once, written from, and served from.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::aligned::Aligned;
use super::inbox::Inbox;
use super::record;
use super::seed::Seed;
use crate::Body;

/// A full block on its way to a journal.
pub(crate) struct Block {
    /// The records.
    pub(crate) bytes: Bytes,
    /// The records and zeros up to whole pages, if they can be written past the page cache.
    pub(crate) pages: Option<Bytes>,
    pub(crate) records: Vec<Record>,
    /// The sum of the records' header checksums.
    pub(crate) sum: u64,
    /// The shard it came from.
    pub(crate) inbox: Arc<Inbox>,
}

/// One record of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) ledger: u64,
    pub(crate) entry: u64,
    /// Where it begins in the block.
    pub(crate) offset: u32,
    /// How long it is, with its header.
    pub(crate) size: u32,
}

/// A block at this length leaves at once.
pub(crate) const FULL: usize = 256 << 10;

/// The smallest block, in bytes.
pub(crate) const SMALLEST: usize = 4 << 10;

/// A block that is being filled.
pub(crate) struct Builder {
    buffer: Aligned,
    /// How many bytes it is to hold.
    capacity: usize,
    is_aligned: bool,
    records: Vec<Record>,
    sum: u64,
    seed: Seed,
}

impl Builder {
    /// A block for `capacity` bytes, which can be written past the page cache if `is_aligned`.
    pub(crate) fn with_capacity(capacity: usize, is_aligned: bool, seed: Seed) -> Self {
        let buffer = if is_aligned { Aligned::with_capacity(capacity) } else { Aligned::small(capacity) };
        Self { buffer, capacity, is_aligned, records: Vec::new(), sum: 0, seed }
    }

    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether a body of `length` bytes fits without the block having to grow.
    pub(crate) fn fits(&self, length: usize) -> bool {
        self.buffer.len() + record::HEADER + length <= self.capacity
    }

    /// Adds an entry that fits: the one copy made of it. Returns where its body is.
    pub(crate) fn push(&mut self, ledger: u64, entry: u64, body: Body<'_>) -> (u32, u32) {
        let offset = self.buffer.len();
        let out = self.buffer.for_more(record::HEADER + body.bytes.len());
        self.sum = self.sum.wrapping_add(u64::from(record::encode(out, self.seed, ledger, entry, body)));
        let (offset, size) = (offset as u32, (self.buffer.len() - offset) as u32);
        self.records.push(Record { ledger, entry, offset, size });
        (offset + record::HEADER as u32, size - record::HEADER as u32)
    }

    /// Closes the block; its memory is charged to `account` until the last slice of it is gone.
    pub(crate) fn finish(mut self, inbox: &Arc<Inbox>, account: &Account) -> Block {
        let records = self.buffer.range();
        if self.is_aligned {
            self.buffer.fill_page();
        } else if self.buffer.len() * 2 < self.capacity {
            // A block with a single acknowledgement is kept as long as one that is full.
            self.buffer.shrink();
        }
        let pages = self.buffer.range();
        let owner = Owner { charge: account.charge(self.buffer.memory()), buffer: self.buffer };
        let memory = Bytes::from_owner(owner);
        Block {
            bytes: memory.slice(records),
            pages: self.is_aligned.then(|| memory.slice(pages)),
            records: self.records,
            sum: self.sum,
            inbox: Arc::clone(inbox),
        }
    }
}

/// Counts the memory of blocks, for a shard and for the whole store.
#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) shard: Arc<AtomicUsize>,
    pub(crate) store: Arc<AtomicUsize>,
}

impl Account {
    fn charge(&self, bytes: usize) -> Charge {
        self.shard.fetch_add(bytes, Ordering::Relaxed);
        self.store.fetch_add(bytes, Ordering::Relaxed);
        Charge { account: self.clone(), bytes }
    }
}

/// The memory of one block; travels with it.
struct Charge {
    account: Account,
    bytes: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.shard.fetch_sub(self.bytes, Ordering::Relaxed);
        self.account.store.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Owner {
    buffer: Aligned,
    /// Held for what dropping it does.
    #[expect(dead_code, reason = "held for what dropping it does")]
    charge: Charge,
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_ref()
    }
}
