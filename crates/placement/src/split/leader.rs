//! The Modular manager's leader looks for bundles that are too big on any broker.

use std::collections::BTreeMap;

use super::SplitReason;
use crate::load::{BundleData, BundleStats};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// A bundle to split, found by [`find_hot_bundles`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotBundle {
    /// The bundle.
    pub bundle: BundleName,
    /// The broker that serves it.
    pub broker: BrokerId,
    /// What it has too much of.
    pub reason: SplitReason,
}

/// Pulsar's `BundleSplitterTask`: bundles with at least two topics whose topics or sessions of now, or whose long-term
/// traffic, exceed a limit, as long as the namespace has fewer than `loadBalancerNamespaceMaximumBundles` bundles, the
/// splits found before included.
///
/// `reported` holds what brokers reported of their bundles; `bundle_count` tells how many bundles a namespace has, `None`
/// if that cannot be read, which leaves the namespace alone.
pub fn find_hot_bundles<'a>(
    reported: impl IntoIterator<Item = (&'a BrokerId, &'a BundleName, &'a BundleStats)>,
    bundles: &BTreeMap<BundleName, BundleData>,
    bundle_count: impl Fn(&str) -> Option<usize>,
    settings: &Settings,
) -> Vec<HotBundle> {
    let mut found = Vec::new();
    let mut planned: BTreeMap<&str, usize> = BTreeMap::new();
    for (broker, bundle, stats) in reported {
        if stats.topics < 2 {
            continue;
        }
        let (rate, throughput) = bundles
            .get(bundle)
            .map_or((0.0, 0.0), |data| (data.long_term_data.rate(), data.long_term_data.throughput()));
        let Some(reason) = SplitReason::of(stats, rate, throughput, settings) else { continue };
        let namespace = bundle.namespace();
        let planned = planned.entry(namespace).or_insert(0);
        let fits = |count: usize| count.saturating_add(*planned) < settings.load_balancer_namespace_maximum_bundles;
        if bundle_count(namespace).is_some_and(fits) {
            *planned += 1;
            found.push(HotBundle { bundle: bundle.clone(), broker: broker.clone(), reason });
        }
    }
    found
}
