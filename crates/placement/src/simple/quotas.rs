//! What bundles are expected to need, learnt from what they carry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::smoothing::{Bounds, smooth};
use crate::load::{BundleStats, ResourceQuota};
use crate::names::BundleName;

/// Topics, producers and consumers that count as one group.
const GROUP: u64 = 500;

/// Below so many messages per second in the cluster nothing is learnt about the cost of one.
const LEAST_RATE: f64 = 1_000.0;

/// Below so many bundles, or groups of clients, the cluster tells nothing about an ordinary one.
const LEAST_COUNT: u64 = 30;

const CPU_FACTOR: Bounds = Bounds { min: 0.01, max: 0.1 };
const MEMORY_FACTOR: Bounds = Bounds { min: 10.0, max: 50.0 };
const RATE: Bounds = Bounds { min: 5.0, max: 0.0 };
const BANDWIDTH: Bounds = Bounds { min: 10_000.0, max: 1_000_000.0 };
const MEMORY: Bounds = Bounds { min: 2.0, max: 200.0 };

/// Quotas of bundles and the cost of messages and clients, smoothed over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuotaBook {
    /// CPU, in percent of a core, that one message per second costs.
    pub cpu_factor: f64,
    /// Memory, in MB, that a group of 500 topics, producers and consumers costs.
    pub memory_factor: f64,
    /// The quota of a bundle nothing else is known of.
    pub default_quota: ResourceQuota,
    /// The quota of every bundle that was reported.
    pub bundles: BTreeMap<BundleName, ResourceQuota>,
}

impl Default for QuotaBook {
    fn default() -> Self {
        Self {
            cpu_factor: 0.025,
            memory_factor: 25.0,
            default_quota: ResourceQuota::default(),
            bundles: BTreeMap::new(),
        }
    }
}

/// What all brokers reported, added up.
#[derive(Clone, Copy, Debug)]
pub struct QuotaInput<'a> {
    /// Statistics of every bundle.
    pub stats: &'a BTreeMap<BundleName, BundleStats>,
    /// CPU of all brokers, in percent of a core.
    pub cpu: f64,
    /// Memory of all brokers, in MB.
    pub memory: f64,
    /// Milliseconds since the quotas were last updated.
    pub elapsed: i64,
}

impl QuotaBook {
    /// The quota of a bundle.
    #[must_use]
    pub fn quota(&self, bundle: &BundleName) -> &ResourceQuota {
        self.bundles.get(bundle).unwrap_or(&self.default_quota)
    }

    /// Takes in a round of reports. Quotas that an operator has fixed (`dynamic` is false) stay.
    pub fn update(&mut self, input: &QuotaInput<'_>) {
        let total_rate: f64 = input.stats.values().map(BundleStats::rate).sum();
        let total_groups = input.stats.values().map(groups).fold(0, u64::saturating_add);
        if total_rate > LEAST_RATE && total_groups > LEAST_COUNT {
            self.cpu_factor = smooth(self.cpu_factor, input.cpu / total_rate, CPU_FACTOR, input.elapsed);
            let memory = input.memory / total_groups as f64;
            self.memory_factor = smooth(self.memory_factor, memory, MEMORY_FACTOR, input.elapsed);
        }
        let count = input.stats.len();
        if count as u64 > LEAST_COUNT {
            let mean = |value: fn(&BundleStats) -> f64| input.stats.values().map(value).sum::<f64>() / count as f64;
            let ordinary = ResourceQuota {
                msg_rate_in: mean(|stats| stats.msg_rate_in),
                msg_rate_out: mean(|stats| stats.msg_rate_out),
                bandwidth_in: mean(|stats| stats.msg_throughput_in),
                bandwidth_out: mean(|stats| stats.msg_throughput_out),
                memory: total_groups as f64 * self.memory_factor / count as f64,
                dynamic: true,
            };
            self.default_quota = follow(&self.default_quota, &ordinary, input.elapsed);
        }
        for (bundle, stats) in input.stats {
            let measured = ResourceQuota {
                msg_rate_in: stats.msg_rate_in,
                msg_rate_out: stats.msg_rate_out,
                bandwidth_in: stats.msg_throughput_in,
                bandwidth_out: stats.msg_throughput_out,
                memory: groups(stats) as f64 * self.memory_factor,
                dynamic: true,
            };
            let quota = follow(self.quota(bundle), &measured, input.elapsed);
            self.bundles.insert(bundle.clone(), quota);
        }
    }
}

fn groups(stats: &BundleStats) -> u64 {
    1 + stats.topics.saturating_add(stats.sessions()) / GROUP
}

fn follow(quota: &ResourceQuota, measured: &ResourceQuota, elapsed: i64) -> ResourceQuota {
    if !quota.dynamic {
        return *quota;
    }
    ResourceQuota {
        msg_rate_in: smooth(quota.msg_rate_in, measured.msg_rate_in, RATE, elapsed),
        msg_rate_out: smooth(quota.msg_rate_out, measured.msg_rate_out, RATE, elapsed),
        bandwidth_in: smooth(quota.bandwidth_in, measured.bandwidth_in, BANDWIDTH, elapsed),
        bandwidth_out: smooth(quota.bandwidth_out, measured.bandwidth_out, BANDWIDTH, elapsed),
        memory: smooth(quota.memory, measured.memory, MEMORY, elapsed),
        dynamic: true,
    }
}
