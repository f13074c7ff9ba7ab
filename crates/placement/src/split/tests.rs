use std::collections::{BTreeMap, BTreeSet};

use super::{OwnedBundles, SplitDecider, SplitReason, SplitRule, find_hot_bundles};
use crate::bundle::BundleRange;
use crate::load::BundleStats;
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// A broker that owns everything, in namespaces of one bundle, and cuts in the middle.
struct Owner;

impl OwnedBundles for Owner {
    fn is_owner(&self, _: &BundleName) -> bool {
        true
    }

    fn bundle_count(&self, _: &str) -> Option<usize> {
        Some(1)
    }

    fn boundaries(&self, _: &BundleName, range: BundleRange) -> Option<Vec<u32>> {
        Some(vec![range.lower() + (range.upper() - range.lower()) / 2])
    }
}

fn hot() -> BundleStats {
    BundleStats { topics: 2_000, ..BundleStats::default() }
}

#[test]
fn a_namespace_is_not_taken_for_one_whose_name_goes_on() {
    let settings =
        Settings { load_balancer_namespace_bundle_split_condition_hit_count_threshold: 0, ..Settings::default() };
    let bundle: BundleName = "t/ns/0x00000000_0x80000000".into();
    let stats = BTreeMap::from([(bundle, hot())]);
    let split = |splitting: &str| {
        let splitting = BTreeSet::from([BundleName::from(splitting)]);
        SplitDecider::default().decide(&stats, &Owner, &splitting, &settings).verdicts[0].rule
    };
    assert_eq!(split("t/ns2/0x00000000_0x40000000"), SplitRule::Splits);
    assert_eq!(split("t/ns/0x00000000_0x40000000"), SplitRule::SiblingSplitting);
}

#[test]
fn a_bundle_has_to_stay_too_big_for_a_while() {
    let bundle: BundleName = "t/ns/0x00000000_0x80000000".into();
    let mut decider = SplitDecider::default();
    let mut cycle = |stats: BundleStats| {
        let stats = BTreeMap::from([(bundle.clone(), stats)]);
        decider.decide(&stats, &Owner, &BTreeSet::new(), &Settings::default()).verdicts[0].rule
    };
    assert_eq!(cycle(hot()), SplitRule::HitCount);
    assert_eq!(cycle(BundleStats { topics: 2, ..BundleStats::default() }), SplitRule::WithinLimits);
    for _ in 0..3 {
        assert_eq!(cycle(hot()), SplitRule::HitCount);
    }
    assert_eq!(cycle(hot()), SplitRule::Splits);
    assert_eq!(cycle(hot()), SplitRule::HitCount);
}

#[test]
fn no_more_splits_than_the_namespace_may_have_bundles() {
    let settings = Settings { load_balancer_namespace_maximum_bundles: 3, ..Settings::default() };
    let bundles: Vec<BundleName> = (0..3).map(|i| format!("t/ns/0x{i}0000000_0x{}0000000", i + 1).into()).collect();
    let broker: BrokerId = "b:8080".into();
    let stats = hot();
    let reported = bundles.iter().map(|bundle| (&broker, bundle, &stats));
    let found = find_hot_bundles(reported, &BTreeMap::new(), |_| Some(1), &settings);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|hot| hot.reason == SplitReason::Topics));
}
