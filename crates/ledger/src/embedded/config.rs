//! What can be set.

use std::time::Duration;

/// The settings of an embedded store.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many journals there are; each has a thread, and a write and a sync of its own.
    pub journals: usize,
    /// The length of a segment in bytes, at most 2 GiB.
    pub segment_bytes: u64,
    /// The length of each journal's first segment after a start, in bytes; small, so that a start is short.
    pub first_segment_bytes: u64,
    /// How much of the latest entries is kept in memory, over all shards, in bytes.
    pub cache_bytes: usize,
    /// How much of the segments' indexes is kept in memory, in bytes.
    pub index_cache_bytes: usize,
    /// The most one write holds, in bytes, unless a single block is longer.
    pub batch_bytes: usize,
    /// From how many bytes on a write goes past the page cache, where the file system can: that saves the kernel's copy,
    /// and costs a page or two of padding. What is shorter, and what was written long ago, is read through the cache.
    pub direct_bytes: usize,
    /// How fast the next segments are filled with zeros ahead of use, in bytes per second; 0 to not fill any. When
    /// writing outruns this, segments grow as they are written.
    pub prepare_rate: u64,
    /// Space held back, in bytes, for when the disk is full: so that ledgers can be deleted and sealed, and ledgers of
    /// [`State`](crate::Class::State) can be written.
    pub reserve_bytes: u64,
    /// How long after its last write a segment that still holds live entries is rewritten, sorted by ledger.
    pub rewrite_after: Duration,
    /// How fast segments are rewritten, in bytes per second; 0 to not rewrite any.
    pub rewrite_rate: u64,
    /// How often space is looked after.
    pub upkeep_interval: Duration,
    /// How many threads read what is no longer in memory.
    pub read_threads: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            journals: 1,
            segment_bytes: 256 << 20,
            first_segment_bytes: 16 << 20,
            cache_bytes: 128 << 20,
            index_cache_bytes: 16 << 20,
            batch_bytes: 2 << 20,
            direct_bytes: 64 << 10,
            prepare_rate: 64 << 20,
            reserve_bytes: 16 << 20,
            rewrite_after: Duration::from_secs(300),
            rewrite_rate: 64 << 20,
            upkeep_interval: Duration::from_secs(1),
            read_threads: 2,
        }
    }
}
