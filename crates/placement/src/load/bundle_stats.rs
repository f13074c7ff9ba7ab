//! What one bundle carries now.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::average::Sample;

/// Latest statistics of a bundle (Pulsar's `NamespaceBundleStats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BundleStats {
    /// Messages per second published.
    pub msg_rate_in: f64,
    /// Bytes per second published.
    pub msg_throughput_in: f64,
    /// Messages per second dispatched.
    pub msg_rate_out: f64,
    /// Bytes per second dispatched.
    pub msg_throughput_out: f64,
    /// Attached consumers.
    pub consumer_count: u64,
    /// Attached producers.
    pub producer_count: u64,
    /// Topics served.
    pub topics: u64,
    /// Bytes cached.
    pub cache_size: u64,
}

impl BundleStats {
    /// The four traffic values, as one sample.
    #[must_use]
    pub const fn sample(&self) -> Sample {
        Sample {
            throughput_in: self.msg_throughput_in,
            throughput_out: self.msg_throughput_out,
            rate_in: self.msg_rate_in,
            rate_out: self.msg_rate_out,
        }
    }

    /// Messages per second, both ways.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.msg_rate_in + self.msg_rate_out
    }

    /// Bytes per second, both ways.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        self.msg_throughput_in + self.msg_throughput_out
    }

    /// Attached producers and consumers.
    #[must_use]
    pub const fn sessions(&self) -> u64 {
        self.producer_count.saturating_add(self.consumer_count)
    }

    /// Compares two bundles by size: by throughput in, then out (in steps of 100 kB/s), by rate (steps of 100), by
    /// topics and clients (steps of 500), by cache (steps of 100 000). Values within one step are equal, which makes it a
    /// total preorder (apache/pulsar#24772).
    #[must_use]
    pub fn cmp_size(&self, other: &Self) -> Ordering {
        self.size_key().cmp(&other.size_key())
    }

    fn size_key(&self) -> [i64; 5] {
        let count = self.topics.saturating_add(self.sessions()) / 500;
        [
            steps(self.msg_throughput_in, 100_000.0),
            steps(self.msg_throughput_out, 100_000.0),
            steps(self.rate(), 100.0),
            i64::try_from(count).unwrap_or(i64::MAX),
            i64::try_from(self.cache_size / 100_000).unwrap_or(i64::MAX),
        ]
    }
}

/// The number of steps in `value`, half a step rounded up.
#[expect(clippy::cast_possible_truncation, reason = "a cast saturates, which keeps the order")]
fn steps(value: f64, step: f64) -> i64 {
    (value / step + 0.5).floor() as i64
}
