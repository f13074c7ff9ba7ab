use std::collections::BTreeMap;

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::{AvgPlacement, LeastLongTermMessageRate, LeastResourceUsageWithWeight, Placement, PlacementRequest};
use crate::explain::{Move, MoveReason};
use crate::load::{HostUsage, ResourceUsage};
use crate::modular::{BrokerData, LoadData};
use crate::names::{BrokerId, BundleName};
use crate::selection::ScoreRule;
use crate::settings::Settings;

/// A broker with this CPU usage (1 being 100 %) and long-term rate.
fn broker(usage: f64, rate: f64) -> BrokerData {
    let mut broker = BrokerData::default();
    broker.local.usage.cpu = ResourceUsage::new(usage * 100.0, 100.0);
    broker.averages.long_term_msg_rate_in = rate;
    broker
}

fn cluster(brokers: &[(f64, f64)]) -> LoadData {
    let brokers = brokers.iter().enumerate();
    let brokers = brokers.map(|(i, &(usage, rate))| (format!("b{i}:8080").into(), broker(usage, rate))).collect();
    LoadData { brokers, ..LoadData::default() }
}

struct Choice {
    best: Vec<String>,
    scores: Vec<(f64, ScoreRule)>,
}

fn choose(placement: &mut dyn Placement, data: &LoadData, settings: &Settings) -> Choice {
    let candidates: Vec<BrokerId> = data.brokers.keys().cloned().collect();
    let request = PlacementRequest {
        bundle: &"t/n/0x00000000_0xffffffff".into(),
        candidates: &candidates,
        data,
        namespace_bundles: &BTreeMap::new(),
        settings,
    };
    let selection = placement.select(&request, &mut SmallRng::seed_from_u64(1));
    Choice {
        best: selection.best.iter().map(|id| id.host().to_owned()).collect(),
        scores: selection.scores.iter().map(|score| (score.score, score.rule)).collect(),
    }
}

#[test]
fn the_rate_is_weighted_by_headroom() {
    let data = cluster(&[(0.20, 1_000.0), (0.50, 1_000.0), (0.80, 1_000.0), (0.84, 100.0), (0.86, 1.0)]);
    let choice = choose(&mut LeastLongTermMessageRate, &data, &Settings::default());
    let scores: Vec<f64> = choice.scores.iter().map(|(score, _)| (score * 10.0).round() / 10.0).collect();
    assert_eq!(scores[..2], [1_538.5, 2_857.1]);
    assert!((scores[2] - 20_000.0).abs() < 1.0 && (scores[3] - 10_000.0).abs() < 1.0, "{scores:?}");
    assert_eq!(choice.scores[4], (f64::INFINITY, ScoreRule::Overloaded));
    assert_eq!(choice.best, ["b0"]);
}

#[test]
fn resident_memory_counts_in_the_weighted_form_only() {
    let mut data = cluster(&[(0.1, 100.0), (0.2, 100.0)]);
    data.brokers.get_mut("b0:8080").unwrap().local.usage.memory = ResourceUsage::new(80.0, 100.0);
    assert_eq!(choose(&mut LeastLongTermMessageRate, &data, &Settings::default()).best, ["b1"]);
    let plain = Settings { load_balancer_headroom_weighted_placement: false, ..Settings::default() };
    assert_eq!(choose(&mut LeastLongTermMessageRate, &data, &plain).best, ["b0", "b1"]);
}

#[test]
fn when_all_are_overloaded_any_is_chosen() {
    let data = cluster(&[(0.90, 1.0), (0.95, 2.0), (0.99, 3.0)]);
    assert_eq!(choose(&mut LeastLongTermMessageRate, &data, &Settings::default()).best, ["b0", "b1", "b2"]);
}

#[test]
fn a_candidate_without_report_is_passed_over() {
    let data = cluster(&[(0.5, 9.0)]);
    let candidates = ["b0:8080".into(), "b7:8080".into()];
    let request = PlacementRequest {
        bundle: &"t/n/0x00000000_0xffffffff".into(),
        candidates: &candidates,
        data: &data,
        namespace_bundles: &BTreeMap::new(),
        settings: &Settings::default(),
    };
    let selection = LeastLongTermMessageRate.select(&request, &mut SmallRng::seed_from_u64(1));
    assert_eq!(selection.best, ["b0:8080".into()]);
    let data = LoadData::default();
    let selection =
        LeastLongTermMessageRate.select(&PlacementRequest { data: &data, ..request }, &mut SmallRng::seed_from_u64(1));
    assert_eq!(selection.broker, None);
}

#[test]
fn bug_pulsar_442_a_restarted_broker_does_not_look_empty() {
    // b0 came back with nothing on it; its smoothed usage still remembers what the cluster's hosts are like.
    let mut data = cluster(&[(0.01, 900.0), (0.50, 1_000.0)]);
    assert_eq!(choose(&mut LeastLongTermMessageRate, &data, &Settings::default()).best, ["b0"]);
    data.brokers.get_mut("b0:8080").unwrap().averages.long_term_msg_rate_in = 1_500.0;
    assert_eq!(choose(&mut LeastLongTermMessageRate, &data, &Settings::default()).best, ["b0"]);
    for broker in data.brokers.values_mut() {
        broker.smoothed_usage = Some(0.50);
    }
    assert_eq!(choose(&mut LeastLongTermMessageRate, &data, &Settings::default()).best, ["b1"]);
}

#[test]
fn bug_pip_364_chance_never_picks_the_busiest_when_nobody_stands_out() {
    let usages = [0.40, 0.40, 0.40, 0.40, 0.69, 0.70];
    let data = cluster(&usages.map(|usage| (usage, 100.0)));
    assert_eq!(choose(&mut LeastLongTermMessageRate, &data, &Settings::default()).best, ["b0", "b1", "b2", "b3"]);
}

#[test]
fn bug_pulsar_16766_a_broker_that_comes_back_empty_forgets_its_past() {
    let mut placement = LeastResourceUsageWithWeight::default();
    let settings = Settings::default();
    let mut data = cluster(&[(0.9, 1.0), (0.5, 1.0)]);
    for broker in data.brokers.values_mut() {
        broker.local.bundles.insert("t/n/0x00000000_0xffffffff".into());
        broker.local.msg_rate_in = 1.0;
    }
    assert_eq!(choose(&mut placement, &data, &settings).best, ["b1"]);
    *data.brokers.get_mut("b0:8080").unwrap() = BrokerData::default();
    assert_eq!(choose(&mut placement, &data, &settings).best, ["b0"]);
}

#[test]
fn bug_pulsar_26246_a_plan_survives_new_statistics_and_equal_ones() {
    let mut placement = AvgPlacement::default();
    let data = cluster(&[(0.1, 1.0), (0.2, 2.0), (0.3, 3.0)]);
    let bundle: BundleName = "t/n/0x00000000_0xffffffff".into();
    let planned = |bundle: &BundleName, to: &str| Move {
        bundle: bundle.clone(),
        from: "b2:8080".into(),
        to: Some(to.into()),
        reason: MoveReason::Overloaded,
    };
    placement.expect(&[planned(&bundle, "b1:8080"), planned(&"t/m/0x00000000_0xffffffff".into(), "b0:8080")]);
    for _ in 0..3 {
        assert_eq!(choose(&mut placement, &data, &Settings::default()).best, ["b1"]);
    }
    let mut without = data;
    without.brokers.remove("b1:8080");
    assert_eq!(choose(&mut placement, &without, &Settings::default()).best, ["b0", "b2"]);
}

proptest! {
    #[test]
    fn at_equal_rates_the_less_used_broker_wins(
        a in 0.0..0.85_f64, b in 0.0..0.85_f64, rate in prop_oneof![Just(0.0), 0.0..1e6_f64],
    ) {
        let percent = |usage: f64| HostUsage { cpu: ResourceUsage::new(usage, 1.0), ..HostUsage::default() }.max_of_five();
        prop_assume!(percent(a) != percent(b));
        let choice = choose(&mut LeastLongTermMessageRate, &cluster(&[(a, rate), (b, rate)]), &Settings::default());
        prop_assert_eq!(choice.best, [if percent(a) < percent(b) { "b0" } else { "b1" }]);
    }

    #[test]
    fn a_broker_above_the_threshold_is_chosen_only_if_all_are(
        brokers in prop::collection::vec((0.0..1.5_f64, 0.0..1e6_f64), 1..10), weighted in any::<bool>(),
    ) {
        let settings = Settings { load_balancer_headroom_weighted_placement: weighted, ..Settings::default() };
        let choice = choose(&mut LeastLongTermMessageRate, &cluster(&brokers), &settings);
        let overloaded = |id: &str| choice.scores[id[1..].parse::<usize>().unwrap()].1 == ScoreRule::Overloaded;
        let all = choice.scores.iter().all(|(_, rule)| *rule == ScoreRule::Overloaded);
        prop_assert!(!choice.best.is_empty());
        prop_assert!(all || !choice.best.iter().any(|id| overloaded(id)));
        prop_assert!(!all || choice.best.len() == brokers.len());
    }
}
