//! Under the Extensible manager each broker looks for bundles of its own that are too big.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::SplitReason;
use crate::bundle::BundleRange;
use crate::load::BundleStats;
use crate::names::BundleName;
use crate::settings::Settings;

/// What a broker knows of the bundles it serves.
pub trait OwnedBundles {
    /// Whether it owns the bundle now.
    fn is_owner(&self, bundle: &BundleName) -> bool;

    /// How many bundles the namespace (`tenant/namespace`) has; `None` if that cannot be read.
    fn bundle_count(&self, namespace: &str) -> Option<usize>;

    /// Where the configured algorithm would cut the bundle; `None` if it fails.
    fn boundaries(&self, bundle: &BundleName, range: BundleRange) -> Option<Vec<u32>>;
}

/// A bundle to split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitDecision {
    /// The bundle.
    pub bundle: BundleName,
    /// The two ranges that replace it; both stay with its owner.
    pub children: [BundleRange; 2],
    /// What it has too much of.
    pub reason: SplitReason,
}

/// What a cycle of splitting decided, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitPlan {
    /// What to split, in the order of choice.
    pub splits: Vec<SplitDecision>,
    /// One verdict for each bundle that was judged.
    pub verdicts: Vec<SplitVerdict>,
}

/// The verdict on a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitVerdict {
    /// The bundle.
    pub bundle: BundleName,
    /// The rule that decided.
    pub rule: SplitRule,
}

/// What can be said of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SplitRule {
    /// It is split.
    Splits,
    /// It has fewer than two topics, so a split would not divide anything.
    FewTopics,
    /// The broker does not own it any more.
    NotOwned,
    /// Its range is too narrow, or its name holds no range.
    Unsplittable,
    /// It exceeds no limit.
    WithinLimits,
    /// It has to exceed a limit for more cycles.
    HitCount,
    /// Its namespace has as many bundles as allowed.
    NamespaceFull,
    /// The number of its namespace's bundles could not be read.
    NamespaceUnreadable,
    /// A bundle of its namespace with the same start or end is being split.
    SiblingSplitting,
    /// The algorithm found no single boundary.
    NoBoundary,
}

impl SplitRule {
    /// Whether the bundle should have been split and something went wrong.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Unsplittable | Self::NamespaceUnreadable | Self::NoBoundary)
    }
}

/// Pulsar's `DefaultNamespaceBundleSplitStrategy`. Namespaces are compared exactly; Pulsar 4.0 takes a split of `t/ns2`
/// for one of `t/ns`.
#[derive(Clone, Debug, Default)]
pub struct SplitDecider {
    hits: BTreeMap<BundleName, u32>,
}

/// One cycle: what was chosen so far.
struct Cycle<'a> {
    owned: &'a dyn OwnedBundles,
    splitting: &'a BTreeSet<BundleName>,
    settings: &'a Settings,
    planned: BTreeMap<String, usize>,
    splits: Vec<SplitDecision>,
}

impl SplitDecider {
    /// For how many cycles in a row each bundle has exceeded a limit.
    #[must_use]
    pub fn hits(&self) -> &BTreeMap<BundleName, u32> {
        &self.hits
    }

    /// One cycle over the bundles a broker serves; the earlier of two is preferred where a limit allows only one.
    /// `splitting` holds the bundles of the cluster that are being split.
    pub fn decide<'a>(
        &mut self,
        stats: impl IntoIterator<Item = (&'a BundleName, &'a BundleStats)> + Clone,
        owned: &dyn OwnedBundles,
        splitting: &BTreeSet<BundleName>,
        settings: &Settings,
    ) -> SplitPlan {
        let served: BTreeSet<&BundleName> = stats.clone().into_iter().map(|(bundle, _)| bundle).collect();
        self.hits.retain(|bundle, _| served.contains(bundle));
        let mut cycle = Cycle { owned, splitting, settings, planned: BTreeMap::new(), splits: Vec::new() };
        let mut verdicts = Vec::new();
        for (bundle, stats) in stats {
            let rule = self.judge(bundle, stats, &mut cycle);
            verdicts.push(SplitVerdict { bundle: bundle.clone(), rule });
            if cycle.splits.len() >= settings.load_balancer_max_number_of_bundles_to_split_per_cycle {
                break;
            }
        }
        SplitPlan { splits: cycle.splits, verdicts }
    }

    fn judge(&mut self, bundle: &BundleName, stats: &BundleStats, cycle: &mut Cycle<'_>) -> SplitRule {
        if stats.topics < 2 {
            return SplitRule::FewTopics;
        }
        if !cycle.owned.is_owner(bundle) {
            return SplitRule::NotOwned;
        }
        let Some(range) = bundle.range().ok().filter(|range| range.can_split()) else {
            return SplitRule::Unsplittable;
        };
        let settings = cycle.settings;
        let Some(reason) = SplitReason::of(stats, stats.rate(), stats.throughput(), settings) else {
            self.hits.remove(bundle);
            return SplitRule::WithinLimits;
        };
        let hits = self.hits.entry(bundle.clone()).or_insert(0);
        *hits = hits.saturating_add(1);
        if *hits <= settings.load_balancer_namespace_bundle_split_condition_hit_count_threshold {
            return SplitRule::HitCount;
        }
        match cycle.split(bundle, range, reason) {
            Ok(()) => {
                self.hits.remove(bundle);
                SplitRule::Splits
            }
            Err(rule) => rule,
        }
    }
}

impl Cycle<'_> {
    fn split(&mut self, bundle: &BundleName, range: BundleRange, reason: SplitReason) -> Result<(), SplitRule> {
        let namespace = bundle.namespace();
        let count = self.owned.bundle_count(namespace).ok_or(SplitRule::NamespaceUnreadable)?;
        let planned = self.planned.get(namespace).copied().unwrap_or(0);
        if count.saturating_add(planned) >= self.settings.load_balancer_namespace_maximum_bundles {
            return Err(SplitRule::NamespaceFull);
        }
        let touches = |other: &BundleName| {
            other.namespace() == namespace
                && other.range().is_ok_and(|other| other.lower() == range.lower() || other.upper() == range.upper())
        };
        if self.splitting.iter().any(touches) {
            return Err(SplitRule::SiblingSplitting);
        }
        let boundaries = self.owned.boundaries(bundle, range).ok_or(SplitRule::NoBoundary)?;
        let children = match boundaries[..] {
            [boundary] if range.has_inside(boundary) => {
                [BundleRange::new(range.lower(), boundary), BundleRange::new(boundary, range.upper())]
            }
            _ => return Err(SplitRule::NoBoundary),
        };
        let [Ok(low), Ok(high)] = children else { return Err(SplitRule::NoBoundary) };
        self.splits.push(SplitDecision { bundle: bundle.clone(), children: [low, high], reason });
        *self.planned.entry(namespace.to_owned()).or_insert(0) += 1;
        Ok(())
    }
}
