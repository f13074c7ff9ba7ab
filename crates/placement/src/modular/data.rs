//! What the leader knows of brokers and bundles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::load::{BundleData, LocalBrokerData, TimeAverageBrokerData, Weights};
use crate::names::{BrokerId, BundleName};

/// The leader's view of the cluster.
///
/// Brokers and bundles are ordered by name, so that sums and ties come out alike on every broker and in every replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadData {
    /// Every active broker that has reported.
    pub brokers: BTreeMap<BrokerId, BrokerData>,
    /// The averages of every bundle that some broker reported.
    pub bundles: BTreeMap<BundleName, BundleData>,
    /// When bundles were last shed, in milliseconds since 1970.
    pub recently_unloaded: BTreeMap<BundleName, i64>,
}

/// The leader's view of one broker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BrokerData {
    /// Its latest report.
    pub local: LocalBrokerData,
    /// The averages of its bundles, added up.
    pub averages: TimeAverageBrokerData,
    /// Bundles assigned to it that it has not reported.
    pub preallocated: BTreeMap<BundleName, BundleData>,
    /// Moving average of its greatest resource usage, 1 being 100 %; `None` before the first report.
    pub smoothed_usage: Option<f64>,
}

impl BrokerData {
    /// Greatest weighted usage of its latest report, 1 being 100 %.
    #[must_use]
    pub fn usage(&self, weights: &Weights) -> f64 {
        self.local.usage.max_weighted(weights)
    }

    /// Long-term messages per second both ways, bundles on their way included.
    #[must_use]
    pub fn long_term_rate(&self) -> f64 {
        let preallocated: f64 = self.preallocated.values().map(|bundle| bundle.long_term_data.rate()).sum();
        preallocated + self.averages.long_term_rate()
    }

    /// Topics it serves or is about to, by its report and the bundles on their way.
    #[must_use]
    pub fn incoming_topics(&self) -> u64 {
        self.preallocated.values().map(|bundle| bundle.topics).fold(0, u64::saturating_add)
    }
}
