//! Placements of both managers against `placement.json`.

use std::collections::BTreeMap;

use plerion_placement::extensible::select_least_usage;
use plerion_placement::load::{BrokerLoadData, BundleData, LocalBrokerData, MessageAverages, ResourceUsage, Sample};
use plerion_placement::modular::place::{
    LeastLongTermMessageRate, LeastResourceUsageWithWeight, Placement, PlacementRequest, RoundRobin,
};
use plerion_placement::modular::{BrokerData, LoadData};
use plerion_placement::{BrokerId, Selection, Settings};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde_json::{Value, json};

use crate::fixture::{Tally, close, list, load, number};

fn local(usage: &Value) -> LocalBrokerData {
    let resource = |i: usize| ResourceUsage::new(number(&usage[i][0]), number(&usage[i][1]));
    let mut local = LocalBrokerData::default();
    local.usage.cpu = resource(0);
    local.usage.direct_memory = resource(1);
    local.usage.bandwidth_in = resource(2);
    local.usage.bandwidth_out = resource(3);
    local
}

fn ids(value: &Value) -> Vec<BrokerId> {
    value.as_array().unwrap().iter().map(|id| id.as_str().unwrap().into()).collect()
}

fn select(placement: &mut dyn Placement, data: &LoadData, candidates: &[BrokerId], settings: &Settings) -> Selection {
    let request = PlacementRequest {
        bundle: &"t/n/0x00000000_0xffffffff".into(),
        candidates,
        data,
        namespace_bundles: &BTreeMap::new(),
        settings,
    };
    let selection = placement.select(&request, &mut SmallRng::seed_from_u64(7));
    assert_eq!(selection.broker.is_none(), selection.best.is_empty());
    assert!(selection.broker.iter().all(|broker| selection.best.contains(broker)));
    selection
}

fn sorted(mut ids: Vec<BrokerId>) -> Vec<BrokerId> {
    ids.sort();
    ids
}

#[test]
fn replay() {
    let file = load("placement");
    let mut tally = Tally::of("placement");
    let mut run = 0;
    type Check = fn(&Value, &mut Tally);
    let sections: [(&str, Check); 4] = [
        ("least_long_term_message_rate", long_term_rate),
        ("least_resource_usage_modular", resource_usage),
        ("least_resource_usage_extensible", resource_usage_extensible),
        ("round_robin", round_robin),
    ];
    for (name, check) in sections {
        for case in list(&file, name) {
            check(case, &mut tally);
            run += 1;
        }
    }
    assert_eq!(run, 130 + 70 + 120 + 25);
    tally.finish(run, 1);
}

fn long_term_rate(case: &Value, tally: &mut Tally) {
    let settings: Settings = serde_json::from_value(case["conf"].clone()).unwrap();
    let settings = Settings { load_balancer_headroom_weighted_placement: false, ..settings };
    let mut data = LoadData::default();
    for entry in list(case, "brokers").iter().filter(|entry| entry[5] != true) {
        let mut broker = BrokerData { local: local(&entry[1]), ..BrokerData::default() };
        broker.averages.long_term_msg_rate_in = number(&entry[2]);
        broker.averages.long_term_msg_rate_out = number(&entry[3]);
        for (i, bundle) in entry[4].as_array().unwrap().iter().enumerate() {
            let sample = Sample { rate_in: number(&bundle[0]), rate_out: number(&bundle[1]), ..Sample::default() };
            let long_term_data = MessageAverages::new(1_000, sample);
            let bundle = BundleData { long_term_data, ..BundleData::default() };
            broker.preallocated.insert(format!("t/n/{i}").into(), bundle);
        }
        data.brokers.insert(entry[0].as_str().unwrap().into(), broker);
    }
    let candidates = ids(&case["candidates"]);
    let selection = select(&mut LeastLongTermMessageRate, &data, &candidates, &settings);
    for score in selection.scores.iter().filter(|score| data.brokers.contains_key(&score.broker)) {
        assert!(close(score.score, number(&case["scores"][&*score.broker])), "{} {case}", score.broker);
    }
    if case.get("differs").is_some() {
        // A candidate without a report is skipped; upstream fails on it.
        assert_eq!(selection.best, ["b02:8080".into()], "{case}");
        return tally.differs();
    }
    assert_eq!(json!(sorted(selection.best)), case["best"], "{case}");
    tally.equal();
}

fn resource_usage(case: &Value, tally: &mut Tally) {
    let settings: Settings = serde_json::from_value(case["conf"].clone()).unwrap();
    let mut placement = LeastResourceUsageWithWeight::default();
    for round in list(case, "rounds") {
        let mut data = LoadData::default();
        for entry in list(round, "brokers") {
            let mut local = local(&entry[1]);
            local.msg_rate_in = number(&entry[2]);
            local.msg_rate_out = number(&entry[3]);
            local.bundles = (0..entry[4].as_u64().unwrap()).map(|i| format!("t/n/{i}").into()).collect();
            data.brokers.insert(entry[0].as_str().unwrap().into(), BrokerData { local, ..BrokerData::default() });
        }
        if let Some(active) = round.get("active").filter(|active| active.is_array()) {
            // The others were gone for a moment, so their history is.
            let active = ids(active);
            let mut then = data.clone();
            then.brokers.retain(|id, _| active.contains(id));
            select(&mut placement, &then, &[], &settings);
        }
        let selection = select(&mut placement, &data, &ids(&round["candidates"]), &settings);
        if round["none"] == true {
            assert_eq!(selection.broker, None);
            continue;
        }
        assert_eq!(json!(sorted(selection.best)), round["best"], "{} {round}", case["id"]);
        let history = round["history"].as_object().unwrap();
        assert_eq!(history.len(), placement.smoothed_usage().len(), "{} {round}", case["id"]);
        for (id, usage) in placement.smoothed_usage() {
            assert!(close(*usage, number(&history[&**id])), "{} {id} {round}", case["id"]);
        }
    }
    tally.equal();
}

fn resource_usage_extensible(case: &Value, tally: &mut Tally) {
    let ema = case["ema"].as_object().unwrap();
    let loads: BTreeMap<BrokerId, BrokerLoadData> = ema
        .iter()
        .filter_map(|(id, ema)| {
            let weighted_max_ema = ema.as_f64()?;
            Some((id.as_str().into(), BrokerLoadData { weighted_max_ema, ..BrokerLoadData::default() }))
        })
        .collect();
    let candidates: Vec<BrokerId> = ema.keys().map(|id| id.as_str().into()).collect();
    let settings = Settings {
        load_balancer_average_resource_usage_difference_threshold_percentage: number(&case["diffPct"]),
        ..Settings::default()
    };
    let selection = select_least_usage(&candidates, &loads, &settings, &mut SmallRng::seed_from_u64(7));
    if case["none"] == true {
        assert_eq!(selection.broker, None, "{case}");
    } else {
        assert_eq!(json!(sorted(selection.best)), case["best"], "{case}");
    }
    tally.equal();
}

fn round_robin(case: &Value, tally: &mut Tally) {
    let start = u32::try_from(case["counterStart"].as_u64().unwrap()).unwrap();
    let mut placement = RoundRobin::starting_at(start);
    for call in list(case, "calls") {
        assert_eq!(json!(placement.next(&ids(&call[0]))), call[1], "{case}");
    }
    tally.equal();
}
