//! Which bundles are split, against `bundle-split-decisions.json`.

use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::bundle::BundleRange;
use plerion_placement::load::{BundleData, BundleStats, MessageAverages, Sample};
use plerion_placement::split::{OwnedBundles, SplitDecider, SplitDecision, SplitPlan, find_hot_bundles};
use plerion_placement::{BrokerId, BundleName, Settings};
use serde_json::{Value, json};

use crate::fixture::{Tally, list, load, number};

struct Owned<'a>(&'a Value);

impl Owned<'_> {
    fn lists(&self, field: &str, text: &str) -> bool {
        self.0[field].as_array().into_iter().flatten().any(|entry| entry == text)
    }
}

fn bundle_count(case: &Value, namespace: &str) -> usize {
    case["bundleCount"].get(namespace).map_or(1, |count| usize::try_from(count.as_u64().unwrap()).unwrap())
}

impl OwnedBundles for Owned<'_> {
    fn is_owner(&self, bundle: &BundleName) -> bool {
        !self.lists("notOwned", bundle)
    }

    fn bundle_count(&self, namespace: &str) -> Option<usize> {
        (!self.lists("countFails", namespace)).then(|| bundle_count(self.0, namespace))
    }

    fn boundaries(&self, bundle: &BundleName, range: BundleRange) -> Option<Vec<u32>> {
        let middle = range.lower() + (range.upper() - range.lower()) / 2;
        if self.lists("boundaryFails", bundle) {
            None
        } else if self.lists("boundaryNull", bundle) {
            Some(Vec::new())
        } else if self.lists("boundaryTwo", bundle) {
            Some(vec![middle, middle + 1])
        } else {
            Some(vec![middle])
        }
    }
}

/// Eight statistics that follow a bundle's name.
fn stats(entry: &Value) -> BundleStats {
    let count = |i: usize| entry[i].as_u64().unwrap();
    BundleStats {
        msg_throughput_in: number(&entry[1]),
        msg_throughput_out: number(&entry[2]),
        msg_rate_in: number(&entry[3]),
        msg_rate_out: number(&entry[4]),
        consumer_count: count(5),
        producer_count: count(6),
        topics: count(7),
        cache_size: count(8),
    }
}

fn settings(case: &Value) -> Settings {
    serde_json::from_value(case["conf"].clone()).unwrap()
}

#[test]
fn replay() {
    let file = load("bundle-split-decisions");
    let mut tally = Tally::of("bundle-split-decisions");
    let mut run = 0;
    for case in list(&file, "extensible") {
        extensible(case, &mut tally);
        run += 1;
    }
    for case in list(&file, "modular") {
        modular(case);
        tally.equal();
        run += 1;
    }
    assert_eq!(run, 107 + 80);
    tally.finish(run, 1);
}

fn extensible(case: &Value, tally: &mut Tally) {
    let channel: BTreeMap<BundleName, String> =
        serde_json::from_value(case.get("channel").cloned().unwrap_or_else(|| json!({}))).unwrap();
    let splitting: BTreeSet<BundleName> =
        channel.into_iter().filter(|(_, state)| state == "Splitting").map(|(bundle, _)| bundle).collect();
    let mut decider = SplitDecider::default();
    for cycle in list(case, "cycles") {
        let entries = list(cycle, "stats").iter();
        let stats: Vec<(BundleName, BundleStats)> =
            entries.map(|entry| (entry[0].as_str().unwrap().into(), stats(entry))).collect();
        let stats = stats.iter().map(|(bundle, stats)| (bundle, stats));
        let plan = decider.decide(stats, &Owned(case), &splitting, &settings(case));
        if case.get("differs").is_some() {
            // A split of a namespace whose name begins with this one's does not block it.
            assert_ne!(decisions(&plan), cycle["splits"]);
            assert_eq!(plan.splits.len(), 1, "{case}");
            return tally.differs();
        }
        assert_eq!(decisions(&plan), cycle["splits"], "{}", case["id"]);
        let failures = plan.verdicts.iter().filter(|verdict| verdict.rule.is_failure()).count();
        assert_eq!(json!(failures), cycle["failures"], "{}", case["id"]);
        assert_eq!(json!(decider.hits()), cycle["hits"], "{}", case["id"]);
    }
    tally.equal();
}

fn decisions(plan: &SplitPlan) -> Value {
    // Recorded as a set, by name.
    let splits: BTreeMap<_, _> = plan.splits.iter().map(|split| (&split.bundle, split)).collect();
    let decision = |split: &SplitDecision| json!([split.bundle, split.children, "Success", split.reason]);
    splits.into_values().map(decision).collect()
}

fn modular(case: &Value) {
    let mut reported: Vec<(BrokerId, BundleName, BundleStats)> = Vec::new();
    let mut bundles = BTreeMap::new();
    for broker in list(case, "brokers") {
        for entry in broker[1].as_array().unwrap() {
            let bundle: BundleName = entry[0].as_str().unwrap().into();
            if let Some(long) = entry[9].as_array() {
                let sample = Sample {
                    throughput_in: number(&long[0]),
                    throughput_out: number(&long[1]),
                    rate_in: number(&long[2]),
                    rate_out: number(&long[3]),
                };
                let long_term_data = MessageAverages::new(1_000, sample);
                bundles.insert(bundle.clone(), BundleData { long_term_data, ..BundleData::default() });
            }
            reported.push((broker[0].as_str().unwrap().into(), bundle, stats(entry)));
        }
    }
    let reported = reported.iter().map(|(broker, bundle, stats)| (broker, bundle, stats));
    let found = find_hot_bundles(reported, &bundles, |ns| Some(bundle_count(case, ns)), &settings(case));
    let found: BTreeMap<BundleName, BrokerId> = found.into_iter().map(|hot| (hot.bundle, hot.broker)).collect();
    assert_eq!(json!(found), case["split"], "{}", case["id"]);
}
