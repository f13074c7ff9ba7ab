//! The busiest bundles of a broker.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::BundleStats;
use crate::bundle::special::Special;
use crate::names::BundleName;

/// What a broker publishes on the top-bundles topic (Pulsar's `TopBundlesLoadData`), least busy first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TopBundles {
    /// The bundles.
    pub top_bundles_load_data: Vec<TopBundle>,
}

/// One of the busiest bundles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopBundle {
    /// Its name.
    pub bundle_name: BundleName,
    /// Its latest statistics.
    pub stats: BundleStats,
}

/// Which bundles are not worth reporting, because no policy may move them.
#[derive(Clone, Copy, Debug)]
pub struct TopBundlesFilter<'a, P> {
    /// Namespaces that are never shed.
    pub excluded: &'a BTreeSet<String>,
    /// Whether a namespace has an isolation policy or an anti-affinity group, and those may not be moved.
    pub is_held: P,
}

impl TopBundles {
    /// The `count` busiest bundles by [`BundleStats::cmp_size`]; the earlier of two equal ones is preferred. Bundles
    /// without traffic, of the system's own namespaces and those the filter names are left out.
    pub fn select<'a, P: Fn(&str) -> bool>(
        stats: impl IntoIterator<Item = (&'a BundleName, &'a BundleStats)>,
        count: usize,
        filter: &TopBundlesFilter<'_, P>,
    ) -> Self {
        let mut bundles: Vec<(&BundleName, &BundleStats)> = stats
            .into_iter()
            .filter(|(name, stats)| {
                let namespace = name.namespace();
                stats.throughput() != 0.0
                    && Special::of(namespace).is_none()
                    && !filter.excluded.contains(namespace)
                    && !(filter.is_held)(namespace)
            })
            .collect();
        bundles.sort_by(|(_, a), (_, b)| b.cmp_size(a));
        bundles.truncate(count);
        let top = |&(name, stats): &(&BundleName, &BundleStats)| TopBundle { bundle_name: name.clone(), stats: *stats };
        Self { top_bundles_load_data: bundles.iter().rev().map(top).collect() }
    }
}
