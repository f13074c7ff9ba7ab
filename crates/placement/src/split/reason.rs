//! What makes a bundle too big.

use serde::{Deserialize, Serialize};

use crate::load::{BundleStats, MIB};
use crate::settings::Settings;

/// The limit that a bundle exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SplitReason {
    /// Too many topics.
    Topics,
    /// Too many producers and consumers.
    Sessions,
    /// Too many messages.
    MsgRate,
    /// Too many bytes.
    Bandwidth,
}

impl SplitReason {
    /// The first limit that a bundle exceeds, with its traffic as `rate` (messages per second) and `throughput` (bytes
    /// per second), both ways.
    #[must_use]
    pub fn of(stats: &BundleStats, rate: f64, throughput: f64, settings: &Settings) -> Option<Self> {
        let max_sessions = u64::try_from(settings.load_balancer_namespace_bundle_max_sessions).unwrap_or(0);
        if stats.topics > settings.load_balancer_namespace_bundle_max_topics {
            Some(Self::Topics)
        } else if max_sessions > 0 && stats.sessions() > max_sessions {
            Some(Self::Sessions)
        } else if rate > settings.load_balancer_namespace_bundle_max_msg_rate {
            Some(Self::MsgRate)
        } else if throughput > settings.load_balancer_namespace_bundle_max_bandwidth_mbytes * MIB {
            Some(Self::Bandwidth)
        } else {
            None
        }
    }
}
