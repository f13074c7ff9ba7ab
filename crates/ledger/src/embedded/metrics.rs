//! What a store counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that other threads may read at any time.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The counters of a store, since it was opened.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Entries made durable.
    pub appends: Counter,
    /// Bytes made durable, with headers.
    pub bytes: Counter,
    /// Batches that failed.
    pub failed_batches: Counter,
    /// How long write and sync of a batch took.
    pub sync_latency: Histogram,
    /// Batches written past the page cache.
    pub direct_batches: Counter,
    /// How many entries were in a batch.
    pub batch_entries: Histogram,
    /// Reads served from memory, in entries.
    pub cached_entries: Counter,
    /// Reads served from disk, in entries.
    pub cold_entries: Counter,
    /// Bytes read from disk to serve reads.
    pub cold_bytes: Counter,
    /// Records that did not match their checksum, and ranges of segments that held no record.
    pub corrupt_records: Counter,
    /// Segments with data.
    pub segments: Counter,
    /// Segments whose space was given back or reused.
    pub segments_reclaimed: Counter,
    /// Bytes written when segments were rewritten.
    pub rewritten_bytes: Counter,
    /// Segments that grew as they were written because none was prepared.
    pub unprepared_segments: Counter,
    /// How many journals refuse appends because no segment can be had.
    pub refusing: Counter,
}

/// A distribution over buckets with fixed bounds.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [Counter; Self::BOUNDS.len() + 1],
    sum: Counter,
}

impl Histogram {
    /// The inclusive upper bounds of all buckets but the last, which has none. Microseconds where time is measured.
    pub const BOUNDS: [u64; 15] =
        [1, 10, 50, 100, 200, 400, 700, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000];

    /// How many values are in each bucket.
    pub fn buckets(&self) -> [u64; Self::BOUNDS.len() + 1] {
        std::array::from_fn(|index| self.buckets[index].get())
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.buckets().iter().sum()
    }

    /// The sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum.get()
    }

    pub(crate) fn record(&self, value: u64) {
        self.buckets[Self::BOUNDS.partition_point(|&bound| bound < value)].add(1);
        self.sum.add(value);
    }

    pub(crate) fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        for value in [0, 1, 2, 1_000_000, 1_000_001] {
            histogram.record(value);
        }
        let buckets = histogram.buckets();
        assert_eq!((buckets[0], buckets[1], buckets[14], buckets[15]), (2, 1, 1, 1));
        assert_eq!((histogram.count(), histogram.sum()), (5, 2_000_004));
    }
}
