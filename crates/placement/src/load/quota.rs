//! The share of a broker that the Simple manager sets aside for a bundle.

use serde::{Deserialize, Serialize};

/// Expected needs of a bundle (Pulsar's `ResourceQuota`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceQuota {
    /// Messages per second published.
    pub msg_rate_in: f64,
    /// Messages per second dispatched.
    pub msg_rate_out: f64,
    /// Bytes per second in.
    pub bandwidth_in: f64,
    /// Bytes per second out.
    pub bandwidth_out: f64,
    /// Memory, in MB.
    pub memory: f64,
    /// Whether the quota follows the measured load.
    pub dynamic: bool,
}

impl ResourceQuota {
    /// Nothing.
    pub const ZERO: Self =
        Self { msg_rate_in: 0.0, msg_rate_out: 0.0, bandwidth_in: 0.0, bandwidth_out: 0.0, memory: 0.0, dynamic: true };

    /// Messages per second, both ways.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.msg_rate_in + self.msg_rate_out
    }

    /// The needs of both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            msg_rate_in: self.msg_rate_in + other.msg_rate_in,
            msg_rate_out: self.msg_rate_out + other.msg_rate_out,
            bandwidth_in: self.bandwidth_in + other.bandwidth_in,
            bandwidth_out: self.bandwidth_out + other.bandwidth_out,
            memory: self.memory + other.memory,
            dynamic: self.dynamic,
        }
    }
}

impl Default for ResourceQuota {
    /// The quota of a bundle nothing else is known of.
    fn default() -> Self {
        Self {
            msg_rate_in: 40.0,
            msg_rate_out: 120.0,
            bandwidth_in: 100_000.0,
            bandwidth_out: 300_000.0,
            memory: 80.0,
            dynamic: true,
        }
    }
}
