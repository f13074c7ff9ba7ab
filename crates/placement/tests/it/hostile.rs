//! Reports come from other hosts. Whatever numbers they hold, nothing panics and every plan names its reasons.

use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::extensible::{
    ClusterLoad, ClusterPolicies, TransferShedder, default_filters, select_least_usage,
};
use plerion_placement::filter::{AntiAffinity, BrokerFacts, Cluster, IsolationPolicies};
use plerion_placement::load::{
    BrokerLoadData, BundleStats, HostUsage, LoadReport, LocalBrokerData, ResourceUsage, TopBundle, TopBundles,
};
use plerion_placement::simple::{QuotaBook, SimpleManager, Strategy};
use plerion_placement::{BrokerId, BundleName, Constraints, Registry, Settings};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

fn number(rng: &mut SmallRng) -> f64 {
    const ODD: [f64; 8] = [0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    if rng.random_bool(0.3) { ODD[rng.random_range(0..8)] } else { rng.random_range(0.0..1e6) }
}

fn count(rng: &mut SmallRng) -> u64 {
    if rng.random_bool(0.3) { u64::MAX } else { rng.random_range(0..5_000) }
}

fn moment(rng: &mut SmallRng) -> i64 {
    [i64::MIN, 0, 1_000_000, i64::MAX][rng.random_range(0..4)]
}

fn usage(rng: &mut SmallRng) -> HostUsage {
    let mut resource = || ResourceUsage::new(number(rng), number(rng));
    HostUsage {
        cpu: resource(),
        memory: resource(),
        direct_memory: resource(),
        bandwidth_in: resource(),
        bandwidth_out: resource(),
    }
}

fn stats(rng: &mut SmallRng) -> BundleStats {
    BundleStats {
        msg_rate_in: number(rng),
        msg_throughput_in: number(rng),
        msg_rate_out: number(rng),
        msg_throughput_out: number(rng),
        consumer_count: count(rng),
        producer_count: count(rng),
        topics: count(rng),
        cache_size: count(rng),
    }
}

fn bundles(broker: usize, rng: &mut SmallRng) -> BTreeMap<BundleName, BundleStats> {
    let name = |rng: &mut SmallRng| -> BundleName {
        let odd =
            ["", "/", "t/n/", "t/n/0x0_0xfffffffff", "pulsar/b:1/0x00000000_0xffffffff", "t/n/0x00000000_0x40000000"];
        match rng.random_range(0..12) {
            i if i < odd.len() => odd[i].into(),
            i => format!("t/n{}/0x{i}0000000_0x{i}8000000", broker % 2).into(),
        }
    };
    (0..rng.random_range(0..6)).map(|_| (name(rng), stats(rng))).collect()
}

struct Nobody;

impl Cluster for Nobody {
    fn facts(&self, _: &BrokerId) -> Option<BrokerFacts<'_>> {
        None
    }
}

#[test]
fn the_leaders_survive_any_report() {
    let registry = Registry::default();
    let settings = Settings { load_balancer_avg_shedder_hit_count_low_threshold: 1, ..Settings::default() };
    let constraints = Constraints {
        isolation: &IsolationPolicies::default(),
        anti_affinity: &AntiAffinity::new([("t/n0", "g")]),
        domains: &BTreeMap::new(),
        non_persistent: &BTreeSet::new(),
        load_manager_class: "modular",
        settings: &settings,
    };
    for seed in 0..400 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let shedder = ["threshold", "overload", "uniform", "avg"][rng.random_range(0..4)];
        let placement =
            ["least-long-term-message-rate", "least-resource-usage-with-weight", "round-robin"][rng.random_range(0..3)];
        let mut modular = registry.modular_manager(placement, shedder).unwrap();
        let mut simple = SimpleManager::new(Strategy::WeightedRandomSelection, QuotaBook::default());
        for b in 0..rng.random_range(1..5) {
            let id: BrokerId = format!("b{b}:1").into();
            let mut report = LocalBrokerData { persistent_topics_enabled: true, ..LocalBrokerData::default() };
            report.update(usage(&mut rng), bundles(b, &mut rng));
            report.last_update = moment(&mut rng);
            modular.report(&id, report, |_| None, moment(&mut rng), &settings);
            let report = LoadReport {
                persistent_topics_enabled: true,
                system_resource_usage: usage(&mut rng),
                bundle_stats: bundles(b, &mut rng),
                timestamp: moment(&mut rng),
                ..LoadReport::default()
            };
            simple.report(&id, report);
        }
        for _ in 0..3 {
            let now = moment(&mut rng);
            let plan = modular.shed(&constraints, now, &mut rng);
            assert_eq!(plan.moves.is_empty(), plan.explanation.blocked.is_some(), "seed {seed}");
            for m in &plan.moves {
                modular.moved(&m.bundle, &m.from, m.to.as_ref(), now);
            }
            modular.select(&"t/n1/0x00000000_0x10000000".into(), &constraints, now, &mut rng);
            assert!(modular.hot_bundles(|_| Some(usize::MAX), &settings).is_empty(), "seed {seed}");
            assert!(modular.bundles_to_store(&settings).len() <= 50, "seed {seed}");
            modular.prune_bundles();
            simple.shed(&constraints, now);
            simple.select(&"t/n1/0x00000000_0x10000000".into(), &constraints, &mut rng);
        }
    }
}

#[test]
fn the_transfer_shedder_survives_any_load_data() {
    let settings = Settings { load_balancer_shedding_condition_hit_count_threshold: 0, ..Settings::default() };
    for seed in 0..400 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (mut loads, mut top_bundles, mut owners) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for b in 0..rng.random_range(1..6) {
            let id: BrokerId = format!("b{b}:1").into();
            let mut load = BrokerLoadData { usage: usage(&mut rng), ..BrokerLoadData::default() };
            load.msg_throughput_in = number(&mut rng);
            load.refresh(&settings.weights(), 0.9, moment(&mut rng));
            load.weighted_max_ema = number(&mut rng);
            loads.insert(id.clone(), load);
            let top = bundles(b, &mut rng).into_iter().map(|(bundle_name, stats)| {
                owners.insert(bundle_name.clone(), id.clone());
                TopBundle { bundle_name, stats }
            });
            let top = TopBundles { top_bundles_load_data: top.collect() };
            top_bundles.insert(id, top);
        }
        let available: BTreeSet<BrokerId> = loads.keys().cloned().collect();
        let candidates: Vec<BrokerId> = available.iter().cloned().collect();
        let rules = ClusterPolicies {
            available: &candidates,
            cluster: &Nobody,
            owners: &owners,
            non_persistent: &BTreeSet::new(),
            isolation: &IsolationPolicies::default(),
            anti_affinity: &AntiAffinity::default(),
            domains: &BTreeMap::new(),
            filters: if rng.random_bool(0.5) { &default_filters() } else { &[] },
            load_manager_class: "extensible",
            settings: &settings,
        };
        let load = ClusterLoad { loads: &loads, top_bundles: &top_bundles, available: Some(&available) };
        let mut shedder = TransferShedder::default();
        for _ in 0..3 {
            let plan = shedder.decide(&load, &rules, moment(&mut rng), &settings);
            assert_eq!(plan.moves.is_empty(), plan.explanation.blocked.is_some(), "seed {seed}");
            let moved: BTreeSet<&BundleName> = plan.moves.iter().map(|m| &m.bundle).collect();
            assert_eq!(moved.len(), plan.moves.len(), "seed {seed}: a bundle moves twice");
        }
        select_least_usage(&candidates, &loads, &settings, &mut rng);
    }
}
