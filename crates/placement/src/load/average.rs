//! Averages of a bundle's traffic over many reports.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::BundleStats;

/// Traffic at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Bytes per second published.
    pub throughput_in: f64,
    /// Bytes per second dispatched.
    pub throughput_out: f64,
    /// Messages per second published.
    pub rate_in: f64,
    /// Messages per second dispatched.
    pub rate_out: f64,
}

/// The mean of a bundle's traffic over a number of samples (Pulsar's `TimeAverageMessageData`).
///
/// A cumulative mean until the window is full, then an exponential one that gives each new sample the weight
/// 1 / `max_samples`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageAverages {
    /// Size of the window, in samples.
    pub max_samples: u32,
    /// Samples taken, at most `max_samples`.
    #[serde(default)]
    pub num_samples: u32,
    /// Bytes per second published.
    #[serde(default)]
    pub msg_throughput_in: f64,
    /// Bytes per second dispatched.
    #[serde(default)]
    pub msg_throughput_out: f64,
    /// Messages per second published.
    #[serde(default)]
    pub msg_rate_in: f64,
    /// Messages per second dispatched.
    #[serde(default)]
    pub msg_rate_out: f64,
}

impl MessageAverages {
    /// A window without samples, which shows `assumed` until the first one.
    #[must_use]
    pub const fn new(max_samples: u32, assumed: Sample) -> Self {
        Self {
            max_samples,
            num_samples: 0,
            msg_throughput_in: assumed.throughput_in,
            msg_throughput_out: assumed.throughput_out,
            msg_rate_in: assumed.rate_in,
            msg_rate_out: assumed.rate_out,
        }
    }

    /// Takes one sample in.
    pub fn add(&mut self, sample: Sample) {
        self.num_samples = self.num_samples.saturating_add(1).min(self.max_samples).max(1);
        let count = f64::from(self.num_samples);
        let mean = |old: f64, new: f64| ((count - 1.0) * old + new) / count;
        self.msg_throughput_in = mean(self.msg_throughput_in, sample.throughput_in);
        self.msg_throughput_out = mean(self.msg_throughput_out, sample.throughput_out);
        self.msg_rate_in = mean(self.msg_rate_in, sample.rate_in);
        self.msg_rate_out = mean(self.msg_rate_out, sample.rate_out);
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

    /// Compares by throughput in, then out (in whole steps of 100 kB/s), then by rate (whole steps of 100). Unlike
    /// [`BundleStats::cmp_size`], which rounds, this truncates to the step.
    #[must_use]
    pub fn cmp_size(&self, other: &Self) -> Ordering {
        self.size_key().cmp(&other.size_key())
    }

    #[expect(clippy::cast_possible_truncation, reason = "a cast saturates, which keeps the order")]
    fn size_key(&self) -> [i64; 3] {
        [
            (self.msg_throughput_in / 100_000.0) as i64,
            (self.msg_throughput_out / 100_000.0) as i64,
            (self.rate() / 100.0) as i64,
        ]
    }
}

/// What is remembered of a bundle: a short window to react by and a long one to plan by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleData {
    /// The last 10 samples or so.
    pub short_term_data: MessageAverages,
    /// The last 1 000 samples or so.
    pub long_term_data: MessageAverages,
    /// Topics in the bundle.
    #[serde(default)]
    pub topics: u64,
}

impl BundleData {
    /// Samples of the short window.
    pub const SHORT_SAMPLES: u32 = 10;
    /// Samples of the long window.
    pub const LONG_SAMPLES: u32 = 1_000;
    /// The traffic a bundle is assumed to have before its first sample: 50 messages and 50 kB per second each way.
    pub const ASSUMED: Sample =
        Sample { throughput_in: 50_000.0, throughput_out: 50_000.0, rate_in: 50.0, rate_out: 50.0 };

    /// Takes in what a broker reported of the bundle.
    pub fn add(&mut self, stats: &BundleStats) {
        self.short_term_data.add(stats.sample());
        self.long_term_data.add(stats.sample());
        self.topics = stats.topics;
    }

    /// Compares by the short window, then by the long one.
    #[must_use]
    pub fn cmp_size(&self, other: &Self) -> Ordering {
        let short = self.short_term_data.cmp_size(&other.short_term_data);
        short.then_with(|| self.long_term_data.cmp_size(&other.long_term_data))
    }
}

impl Default for BundleData {
    fn default() -> Self {
        Self {
            short_term_data: MessageAverages::new(Self::SHORT_SAMPLES, Self::ASSUMED),
            long_term_data: MessageAverages::new(Self::LONG_SAMPLES, Self::ASSUMED),
            topics: 0,
        }
    }
}

/// The averages of all bundles of a broker, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TimeAverageBrokerData {
    /// Bytes per second published, short window.
    pub short_term_msg_throughput_in: f64,
    /// Bytes per second dispatched, short window.
    pub short_term_msg_throughput_out: f64,
    /// Messages per second published, short window.
    pub short_term_msg_rate_in: f64,
    /// Messages per second dispatched, short window.
    pub short_term_msg_rate_out: f64,
    /// Bytes per second published, long window.
    pub long_term_msg_throughput_in: f64,
    /// Bytes per second dispatched, long window.
    pub long_term_msg_throughput_out: f64,
    /// Messages per second published, long window.
    pub long_term_msg_rate_in: f64,
    /// Messages per second dispatched, long window.
    pub long_term_msg_rate_out: f64,
}

impl TimeAverageBrokerData {
    /// Adds up bundles; `None` is a bundle nothing is known of, which counts as [`BundleData::ASSUMED`].
    pub fn sum<'a>(bundles: impl IntoIterator<Item = Option<&'a BundleData>>) -> Self {
        let mut sum = Self::default();
        let assumed = BundleData::default();
        for bundle in bundles {
            let BundleData { short_term_data: short, long_term_data: long, .. } = bundle.unwrap_or(&assumed);
            sum.short_term_msg_throughput_in += short.msg_throughput_in;
            sum.short_term_msg_throughput_out += short.msg_throughput_out;
            sum.short_term_msg_rate_in += short.msg_rate_in;
            sum.short_term_msg_rate_out += short.msg_rate_out;
            sum.long_term_msg_throughput_in += long.msg_throughput_in;
            sum.long_term_msg_throughput_out += long.msg_throughput_out;
            sum.long_term_msg_rate_in += long.msg_rate_in;
            sum.long_term_msg_rate_out += long.msg_rate_out;
        }
        sum
    }

    /// Messages per second both ways, long window.
    #[must_use]
    pub fn long_term_rate(&self) -> f64 {
        self.long_term_msg_rate_in + self.long_term_msg_rate_out
    }
}
