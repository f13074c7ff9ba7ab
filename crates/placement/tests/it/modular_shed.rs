//! The four shedders of the Modular manager against their recordings.

use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::explain::{BrokerRule, Plan};
use plerion_placement::load::{BundleData, LocalBrokerData, MessageAverages, ResourceUsage, Sample};
use plerion_placement::modular::shed::{
    AvgShedder, Hits, OverloadShedder, Shedder, ThresholdShedder, UniformLoadShedder,
};
use plerion_placement::modular::{BrokerData, LoadData};
use plerion_placement::{BrokerId, BundleName, Settings};
use serde_json::{Value, json};

use crate::fixture::{Tally, close, list, load, number};

/// The shed bundles of each broker, in the order of choice.
type Shed = BTreeMap<BrokerId, Vec<BundleName>>;

fn settings(case: &Value) -> Settings {
    serde_json::from_value(case["conf"].clone()).unwrap()
}

/// CPU, direct memory and bandwidth of a broker.
fn set_usage(local: &mut LocalBrokerData, usage: &Value) {
    let resource = |i: usize| ResourceUsage::new(number(&usage[i][0]), number(&usage[i][1]));
    local.usage.cpu = resource(0);
    local.usage.direct_memory = resource(1);
    local.usage.bandwidth_in = resource(2);
    local.usage.bandwidth_out = resource(3);
}

fn bundle_name(namespace: &str, first: &str) -> BundleName {
    if first.matches('/').count() > 1 { first.into() } else { format!("{namespace}/{first}").into() }
}

fn load_data(case: &Value) -> LoadData {
    let mut data = LoadData::default();
    for entry in list(case, "brokers") {
        let mut local = LocalBrokerData::default();
        set_usage(&mut local, &entry[1]);
        local.msg_throughput_in = number(&entry[2]);
        local.msg_throughput_out = number(&entry[3]);
        local.msg_rate_in = number(&entry[4]);
        local.msg_rate_out = number(&entry[5]);
        for bundle in entry[7].as_array().unwrap() {
            let name = bundle_name(entry[6].as_str().unwrap(), bundle[0].as_str().unwrap());
            local.bundles.insert(name.clone());
            if bundle.get(1).is_some() {
                let sample = Sample {
                    throughput_in: number(&bundle[1]),
                    throughput_out: number(&bundle[2]),
                    rate_in: number(&bundle[3]),
                    rate_out: number(&bundle[4]),
                };
                let short_term_data = MessageAverages::new(10, sample);
                data.bundles.insert(name, BundleData { short_term_data, ..BundleData::default() });
            }
        }
        let id = entry[0].as_str().unwrap().into();
        data.brokers.insert(id, BrokerData { local, ..BrokerData::default() });
    }
    for bundle in case["recent"].as_array().into_iter().flatten() {
        data.recently_unloaded.insert(bundle.as_str().unwrap().into(), 0);
    }
    data
}

/// Runs the rounds of a case and hands each to `check`: where it is, what was recorded, the shedder after it, its
/// plan, and what it decided by.
fn rounds<S: Shedder>(
    case: &Value,
    shedder: &mut S,
    mut check: impl FnMut(&str, &Value, &S, &Plan, &LoadData),
) -> usize {
    let settings = settings(case);
    let base = load_data(case);
    for (round, expect) in list(case, "expect").iter().enumerate() {
        let mut data = base.clone();
        for (id, usage) in case["rounds"][round].as_object().into_iter().flatten() {
            set_usage(&mut data.brokers.get_mut(id.as_str()).unwrap().local, usage);
        }
        if let Some(active) = case["active"][round].as_array() {
            let active: BTreeSet<&str> = active.iter().map(|id| id.as_str().unwrap()).collect();
            data.brokers.retain(|id, _| active.contains(&**id));
        }
        let plan = shedder.decide(&data, &settings);
        assert_plan_is_sound(&plan, &data);
        check(&format!("{} round {round}", case["id"]), expect, shedder, &plan, &data);
    }
    list(case, "expect").len()
}

/// What holds for every plan: no bundle twice, each from the broker that has it, and either a move or what blocked it.
fn assert_plan_is_sound(plan: &Plan, data: &LoadData) {
    let moved: BTreeSet<&BundleName> = plan.moves.iter().map(|m| &m.bundle).collect();
    assert_eq!(moved.len(), plan.moves.len(), "a bundle moves twice");
    assert!(plan.moves.iter().all(|m| data.brokers[&m.from].local.bundles.contains(&m.bundle)));
    assert_eq!(plan.moves.is_empty(), plan.explanation.blocked.is_some(), "{:?}", plan.explanation);
}

fn shed(plan: &Plan) -> Shed {
    let mut shed = Shed::new();
    for m in &plan.moves {
        shed.entry(m.from.clone()).or_default().push(m.bundle.clone());
    }
    shed
}

#[test]
fn threshold() {
    let file = load("modular-threshold-shedder");
    let mut tally = Tally::of("modular-threshold-shedder");
    let mut run = 0;
    for case in list(&file, "cases") {
        run += rounds(case, &mut ThresholdShedder::default(), |at, expect, shedder, plan, _| {
            assert_eq!(json!(shed(plan)), expect["shed"], "{at}");
            let history = expect["history"].as_object().unwrap();
            assert_eq!(history.len(), shedder.smoothed_usage().len(), "{at}");
            for (id, usage) in shedder.smoothed_usage() {
                assert!(close(*usage, number(&history[&**id])), "{at} {id}");
            }
            tally.equal();
        });
    }
    assert_eq!(run, 574);
    tally.finish(run, 0);
}

#[test]
fn overload() {
    let file = load("modular-overload-shedder");
    let mut tally = Tally::of("modular-overload-shedder");
    let mut run = 0;
    for case in list(&file, "cases") {
        run += rounds(case, &mut OverloadShedder, |at, expect, _, plan, _| {
            if case.get("differs").is_some() {
                // The two-part form of an SLA namespace is pinned here; 4.0 sheds its bundle.
                assert_ne!(json!(shed(plan)), expect["shed"]);
                assert!(plan.moves.iter().all(|m| !m.bundle.starts_with("sla-monitor/")));
                tally.differs();
            } else {
                assert_eq!(json!(shed(plan)), expect["shed"], "{at}");
                tally.equal();
            }
        });
    }
    tally.finish(run, 1);
}

#[test]
fn uniform() {
    let file = load("modular-uniform-shedder");
    let mut tally = Tally::of("modular-uniform-shedder");
    let mut run = 0;
    for case in list(&file, "cases") {
        run += rounds(case, &mut UniformLoadShedder, |at, expect, _, plan, _| {
            if case.get("differs").is_some() {
                // No bundle above what is left to move; 4.0 adds 1 000 to it.
                assert_eq!(json!(shed(plan)), case["wanted"], "{at}");
                tally.differs();
            } else if case["spec"] == "minimum above 2^31-1 on all brokers" {
                // Upstream's least value starts at 2^31 - 1, so a cluster above it has none and nothing moves.
                assert_eq!(shed(plan).into_values().flatten().count(), 1, "{at}");
                tally.ours();
            } else {
                assert_eq!(json!(shed(plan)), expect["shed"], "{at}");
                tally.equal();
            }
        });
    }
    tally.finish(run, 46);
}

#[test]
fn avg() {
    let file = load("modular-avg-shedder");
    let mut tally = Tally::of("modular-avg-shedder");
    let mut run = 0;
    for case in list(&file, "cases") {
        let mut held: BTreeMap<BundleName, BrokerId> = BTreeMap::new();
        let mut exact = true;
        let differs = case.get("differs").is_some();
        run += rounds(case, &mut AvgShedder::default(), |at, expect, shedder, plan, data| {
            // The exact order by usage decides who is paired with whom; 4.0 leaves brokers less than a percent point apart
            // in the order of its hash map. Hit counters carry the difference into later rounds.
            let order = exact_order(data, &settings(case));
            assert_pairs(plan, &order);
            if let Some(recorded) = expect.get("exactOrder") {
                assert_eq!(json!(order), *recorded, "{at}");
                exact = false;
            }
            if !exact {
                assert!(differs);
                return tally.differs();
            }
            assert_eq!(json!(shed(plan)), expect["shed"], "{at}");
            for (field, count) in [("hitsHigh", high as fn(&Hits) -> u32), ("hitsLow", low)] {
                let hits: BTreeMap<&BrokerId, u32> =
                    shedder.hits().iter().map(|(id, hits)| (id, count(hits))).filter(|(_, hits)| *hits > 0).collect();
                assert_eq!(json!(hits), expect[field], "{at} {field}");
            }
            held.extend(plan.moves.iter().map(|m| (m.bundle.clone(), m.to.clone().unwrap())));
            if let Some(plan) = expect.get("plan") {
                assert_plan_held(&held, plan, data);
            }
            tally.equal();
        });
    }
    assert_eq!(run, 914);
    // 17 cases, from the first round on in which the exact order is another one.
    tally.finish(run, 98);
}

fn high(hits: &Hits) -> u32 {
    hits.high
}

fn low(hits: &Hits) -> u32 {
    hits.low
}

/// The brokers by ascending usage, ties by id.
fn exact_order(data: &LoadData, settings: &Settings) -> Vec<BrokerId> {
    let mut order: Vec<(&BrokerId, f64)> =
        data.brokers.iter().map(|(id, broker)| (id, broker.usage(&settings.weights()))).collect();
    order.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap().then(a.0.cmp(b.0)));
    order.into_iter().map(|(id, _)| id.clone()).collect()
}

/// The busy brokers of the plan's verdicts are the upper half of `order`, busiest first, and each gives to its partner.
fn assert_pairs(plan: &Plan, order: &[BrokerId]) {
    let busy: Vec<&BrokerId> = order.iter().rev().take(order.len() / 2).collect();
    let judged = plan.explanation.brokers.iter().filter(|verdict| verdict.rule != BrokerRule::Takes);
    let judged: Vec<&BrokerId> = judged.map(|verdict| &verdict.broker).collect();
    assert!(judged.is_empty() || judged == busy, "{judged:?} of {order:?}");
    for m in &plan.moves {
        let at = busy.iter().position(|id| **id == m.from).unwrap();
        assert_eq!(m.to.as_ref(), Some(&order[at]));
    }
}

/// Upstream looks plans up by the statistics of a bundle, so a bundle with equal ones seems planned as well.
fn assert_plan_held(held: &BTreeMap<BundleName, BrokerId>, recorded: &Value, data: &LoadData) {
    let recorded: BTreeMap<BundleName, BrokerId> = serde_json::from_value(recorded.clone()).unwrap();
    for (bundle, broker) in held {
        assert_eq!(recorded.get(bundle), Some(broker), "{bundle}");
    }
    for extra in recorded.keys().filter(|bundle| !held.contains_key(*bundle)) {
        let same = |planned: &BundleName| data.bundles[planned] == data.bundles[extra];
        assert!(held.keys().any(same), "{extra}");
    }
}
