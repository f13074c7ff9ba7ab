use std::collections::{BTreeMap, BTreeSet};

use super::{ClusterLoad, TransferRules, TransferShedder};
use crate::explain::{Block, BundleRule, MoveReason, Plan};
use crate::load::{BrokerLoadData, BundleStats, TopBundle, TopBundles};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

const NOW: i64 = 1_700_000_000_000;

/// Everybody owns what they report, and everything may go anywhere.
struct Free;

impl TransferRules for Free {
    fn is_owner(&self, _: &BundleName, _: &BrokerId) -> bool {
        true
    }

    fn may_transfer(&self, _: &BundleName, _: &BrokerId, _: &BrokerId) -> Result<(), BundleRule> {
        Ok(())
    }
}

#[derive(Default)]
struct Scene {
    loads: BTreeMap<BrokerId, BrokerLoadData>,
    top: BTreeMap<BrokerId, TopBundles>,
}

impl Scene {
    /// A broker with this load and bundles of these bytes per second.
    fn broker(mut self, id: &str, load: f64, bundles: &[f64]) -> Self {
        let throughput: f64 = bundles.iter().sum();
        let data = BrokerLoadData {
            weighted_max_ema: load,
            msg_throughput_in: throughput,
            msg_throughput_ema: throughput,
            updated_at: NOW,
            ..BrokerLoadData::default()
        };
        let top = bundles.iter().enumerate().map(|(i, &msg_throughput_in)| TopBundle {
            bundle_name: format!("t/{id}/{i}").into(),
            stats: BundleStats { msg_throughput_in, ..BundleStats::default() },
        });
        self.loads.insert(id.into(), data);
        self.top.insert(id.into(), TopBundles { top_bundles_load_data: top.collect() });
        self
    }

    fn decide(&self, shedder: &mut TransferShedder) -> Plan {
        let available: BTreeSet<BrokerId> = self.loads.keys().cloned().collect();
        let load = ClusterLoad { loads: &self.loads, top_bundles: &self.top, available: Some(&available) };
        let settings = Settings { load_balancer_shedding_condition_hit_count_threshold: 0, ..Settings::default() };
        shedder.decide(&load, &Free, NOW, &settings)
    }
}

fn moves(plan: &Plan) -> Vec<(&str, &str, MoveReason)> {
    plan.moves.iter().map(|m| (&*m.bundle, m.to.as_deref().unwrap(), m.reason)).collect()
}

#[test]
fn bug_pulsar_20059_one_saturated_broker_among_many_is_relieved() {
    let mut scene = Scene::default().broker("hot", 1.0, &[30.0, 70.0]);
    for i in 0..99 {
        scene = scene.broker(&format!("idle-{i:02}"), 0.1, &[3.0, 7.0]);
    }
    let plan = scene.decide(&mut TransferShedder::default());
    assert_eq!(moves(&plan), [("t/hot/0", "idle-00", MoveReason::Underloaded)]);
    assert!(plan.explanation.limits.iter().any(|(name, std)| name == "standard deviation" && *std < 0.1));
}

#[test]
fn bug_pulsar_22321_underloaded_is_judged_by_the_busiest_brokers_traffic() {
    // Load hardly differs, traffic does.
    let scene = Scene::default().broker("a", 0.30, &[600.0, 400.0]).broker("b", 0.28, &[1.0]);
    let plan = scene.decide(&mut TransferShedder::default());
    assert_eq!(plan.explanation.blocked, Some(Block::NoBundles));
    let scene = Scene::default().broker("a", 0.30, &[20.0, 980.0]).broker("b", 0.28, &[1.0]);
    let plan = scene.decide(&mut TransferShedder::default());
    assert_eq!(moves(&plan), [("t/a/0", "b", MoveReason::Underloaded)]);
}

#[test]
fn bug_pulsar_18215_an_idle_broker_beside_equal_ones_gets_load() {
    let mut scene = Scene::default().broker("f", 0.0, &[]);
    for id in ["a", "b", "c", "d", "e"] {
        scene = scene.broker(id, 0.50, &[10.0, 40.0]);
    }
    let plan = scene.decide(&mut TransferShedder::default());
    assert_eq!(moves(&plan), [("t/e/0", "f", MoveReason::Underloaded)]);
}

#[test]
fn a_broker_without_load_gives_nothing() {
    let mut scene = Scene::default().broker("a", 0.0, &[5.0, 6.0]).broker("b", 0.0, &[7.0, 8.0]);
    scene.loads.get_mut("b").unwrap().msg_throughput_ema = 1e9;
    let plan = scene.decide(&mut TransferShedder::default());
    assert_eq!((plan.moves.len(), plan.explanation.blocked), (0, Some(Block::NoBundles)));
}

#[test]
fn a_load_that_is_no_number_moves_nothing() {
    let mut scene = Scene::default().broker("a", 0.1, &[5.0, 6.0]).broker("b", 0.5, &[7.0, 8.0]);
    scene.loads.get_mut("b").unwrap().weighted_max_ema = f64::NAN;
    assert!(scene.decide(&mut TransferShedder::default()).moves.is_empty());
}

#[test]
fn why_a_bundle_stayed_is_told() {
    let scene = Scene::default().broker("a", 0.9, &[0.0, 30.0, 40.0, 500.0]).broker("b", 0.1, &[1.0]);
    let mut shedder = TransferShedder::default();
    shedder.recent().bundles.insert("t/a/1".into(), NOW);
    let plan = scene.decide(&mut shedder);
    let rule = |bundle: &str| plan.explanation.bundle(bundle).unwrap().rule;
    assert_eq!(rule("t/a/0"), BundleRule::NoTraffic);
    assert_eq!(rule("t/a/1"), BundleRule::RecentlyMoved);
    assert_eq!(rule("t/a/2"), BundleRule::Moves);
    assert_eq!(rule("t/a/3"), BundleRule::EnoughChosen);
}
