//! The report of a broker to the Extensible manager.

use serde::{Deserialize, Serialize};

use super::{HostUsage, Weights};

/// What a broker publishes on the broker-load topic (Pulsar's `BrokerLoadData`).
///
/// A fresh one looks fully loaded, so that a broker without measurements gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BrokerLoadData {
    /// Use of the host, at the top level of the JSON.
    #[serde(flatten)]
    pub usage: HostUsage,
    /// Bytes per second published, all bundles.
    pub msg_throughput_in: f64,
    /// Bytes per second dispatched, all bundles.
    pub msg_throughput_out: f64,
    /// Messages per second published, all bundles.
    pub msg_rate_in: f64,
    /// Messages per second dispatched, all bundles.
    pub msg_rate_out: f64,
    /// Bundles served.
    pub bundle_count: u64,
    /// Topics served.
    pub topics: u64,
    /// Greatest use of a resource, 1 being 100 %.
    pub max_resource_usage: f64,
    /// Moving average of the greatest weighted use, 1 being 100 %.
    #[serde(rename = "weightedMaxEMA")]
    pub weighted_max_ema: f64,
    /// Moving average of the traffic both ways, in bytes per second.
    #[serde(rename = "msgThroughputEMA")]
    pub msg_throughput_ema: f64,
    /// When it was computed, in milliseconds since 1970; 0 before the first time.
    pub updated_at: i64,
    /// When it was published, in milliseconds since 1970.
    pub reported_at: i64,
}

impl Default for BrokerLoadData {
    fn default() -> Self {
        Self {
            usage: HostUsage::default(),
            msg_throughput_in: 0.0,
            msg_throughput_out: 0.0,
            msg_rate_in: 0.0,
            msg_rate_out: 0.0,
            bundle_count: 0,
            topics: 0,
            max_resource_usage: 1.0,
            weighted_max_ema: 1.0,
            msg_throughput_ema: 0.0,
            updated_at: 0,
            reported_at: 0,
        }
    }
}

impl BrokerLoadData {
    /// Recomputes the derived values after `usage` and the traffic were set. `history` is the share of the old moving
    /// averages that stays; the first time they become the measured values. `now` is in milliseconds since 1970.
    pub fn refresh(&mut self, weights: &Weights, history: f64, now: i64) {
        self.max_resource_usage = f64::from(self.usage.max_percent()) / 100.0;
        let weighted = self.usage.max_weighted_of_five(weights);
        let throughput = self.throughput();
        if self.updated_at == 0 {
            self.weighted_max_ema = weighted;
            self.msg_throughput_ema = throughput;
        } else {
            self.weighted_max_ema = self.weighted_max_ema * history + (1.0 - history) * weighted;
            self.msg_throughput_ema = self.msg_throughput_ema * history + (1.0 - history) * throughput;
        }
        self.updated_at = now;
    }

    /// Bytes per second, both ways.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        self.msg_throughput_in + self.msg_throughput_out
    }
}
