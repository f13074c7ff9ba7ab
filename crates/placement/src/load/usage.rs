//! How much of a host is in use.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Use of one resource. Both numbers are in one unit; a limit of 0 or less means that there is no signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceUsage {
    /// What is in use.
    pub usage: f64,
    /// What there is.
    pub limit: f64,
}

impl ResourceUsage {
    /// A usage out of a limit.
    #[must_use]
    pub const fn new(usage: f64, limit: f64) -> Self {
        Self { usage, limit }
    }

    /// The share in use, in percent; 0 without a signal. In single precision, as Pulsar computes it, so that a value
    /// compared with a threshold falls on the same side.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "single precision is the definition")]
    pub fn percent(self) -> f32 {
        if self.limit > 0.0 { self.usage as f32 / self.limit as f32 * 100.0 } else { 0.0 }
    }
}

/// Use of the five resources of a broker's host: CPU in percent of a core, memory in MB, bandwidth in kbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostUsage {
    /// CPU.
    pub cpu: ResourceUsage,
    /// Resident memory.
    pub memory: ResourceUsage,
    /// Memory in message buffers.
    pub direct_memory: ResourceUsage,
    /// Incoming bandwidth.
    pub bandwidth_in: ResourceUsage,
    /// Outgoing bandwidth.
    pub bandwidth_out: ResourceUsage,
}

/// How much each resource counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Weight of CPU.
    pub cpu: f64,
    /// Weight of resident memory.
    pub memory: f64,
    /// Weight of direct memory.
    pub direct_memory: f64,
    /// Weight of incoming bandwidth.
    pub bandwidth_in: f64,
    /// Weight of outgoing bandwidth.
    pub bandwidth_out: f64,
}

impl HostUsage {
    /// The greatest use of the four resources that balancing goes by (all but resident memory), in percent.
    #[must_use]
    pub fn max_percent(&self) -> f32 {
        max([
            self.cpu.percent(),
            self.direct_memory.percent(),
            self.bandwidth_in.percent(),
            self.bandwidth_out.percent(),
        ])
    }

    /// The greatest use of all five resources, 1 being 100 %: `max_usage` of the headroom-weighted placement.
    #[must_use]
    pub fn max_of_five(&self) -> f64 {
        f64::from(self.max_percent().max(self.memory.percent())) / 100.0
    }

    /// The greatest weighted use of the four resources that balancing goes by, 1 being 100 %.
    #[must_use]
    pub fn max_weighted(&self, weights: &Weights) -> f64 {
        max(self.weighted_percents(weights)) / 100.0
    }

    /// As [`HostUsage::max_weighted`], but resident memory counts with its weight as well.
    #[must_use]
    pub fn max_weighted_of_five(&self, weights: &Weights) -> f64 {
        let memory = f64::from(self.memory.percent()) * weights.memory;
        max(self.weighted_percents(weights)).max(memory) / 100.0
    }

    fn weighted_percents(&self, weights: &Weights) -> [f64; 4] {
        [
            f64::from(self.cpu.percent()) * weights.cpu,
            f64::from(self.direct_memory.percent()) * weights.direct_memory,
            f64::from(self.bandwidth_in.percent()) * weights.bandwidth_in,
            f64::from(self.bandwidth_out.percent()) * weights.bandwidth_out,
        ]
    }
}

impl fmt::Display for HostUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cpu: {:.2}%, memory: {:.2}%, directMemory: {:.2}%, bandwidthIn: {:.2}%, bandwidthOut: {:.2}%",
            self.cpu.percent(),
            self.memory.percent(),
            self.direct_memory.percent(),
            self.bandwidth_in.percent(),
            self.bandwidth_out.percent()
        )
    }
}

fn max<T: PartialOrd + Copy + From<u8>>(values: [T; 4]) -> T {
    values.into_iter().fold(T::from(0), |greatest, value| if value > greatest { value } else { greatest })
}
