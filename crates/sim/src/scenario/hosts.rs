//! The hosts of a scenario.

use serde::Deserialize;

use super::values::{Amount, Count, Seconds, Usage};

/// Equal hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostGroup {
    /// How many.
    pub count: Count,
    /// Processor cores of each.
    #[serde(default = "default_cores")]
    pub cores: Amount,
    /// Incoming bandwidth of each, in MB/s.
    #[serde(default = "default_bandwidth")]
    pub in_mbytes: Amount,
    /// Outgoing bandwidth of each, in MB/s.
    #[serde(default = "default_bandwidth")]
    pub out_mbytes: Amount,
    /// Memory of each, in GB.
    #[serde(default = "default_memory")]
    pub memory_gbytes: Amount,
    /// Share of the processors that other programs use.
    #[serde(default = "nothing")]
    pub foreign: Usage,
    /// By how much that swings up and down around its mean.
    #[serde(default = "nothing")]
    pub foreign_swing: Usage,
    /// Period of the swing.
    #[serde(default = "default_swing_period")]
    pub foreign_period: Seconds,
}

fn default_cores() -> Amount {
    Amount(16.0)
}

fn default_bandwidth() -> Amount {
    Amount(1_250.0)
}

fn default_memory() -> Amount {
    Amount(64.0)
}

fn nothing() -> Usage {
    Usage(0.0)
}

fn default_swing_period() -> Seconds {
    Seconds(3_600.0)
}

impl HostGroup {
    /// So many hosts with the default capacity.
    #[must_use]
    pub fn usual(count: u32) -> Self {
        Self {
            count: Count(count),
            cores: default_cores(),
            in_mbytes: default_bandwidth(),
            out_mbytes: default_bandwidth(),
            memory_gbytes: default_memory(),
            foreign: nothing(),
            foreign_swing: nothing(),
            foreign_period: default_swing_period(),
        }
    }
}
