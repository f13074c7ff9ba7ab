use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::place::LeastLongTermMessageRate;
use super::shed::{OverloadShedder, Shedder, ThresholdShedder};
use super::{AssignmentRule, ModularManager};
use crate::constraints::Constraints;
use crate::explain::{Block, BundleRule, Plan};
use crate::filter::{AntiAffinity, IsolationPolicies, IsolationPolicy};
use crate::load::{BundleStats, HostUsage, LocalBrokerData, MIB, NamespaceIsolationData, ResourceUsage};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// A cluster whose brokers report whatever the test says.
struct Cluster {
    manager: ModularManager,
    isolation: IsolationPolicies,
    anti_affinity: AntiAffinity,
    domains: BTreeMap<BrokerId, String>,
    settings: Settings,
    now: i64,
}

impl Cluster {
    fn new(shedder: impl Shedder + 'static) -> Self {
        Self {
            manager: ModularManager::new(Box::new(LeastLongTermMessageRate), Box::new(shedder)),
            isolation: IsolationPolicies::default(),
            anti_affinity: AntiAffinity::default(),
            domains: BTreeMap::new(),
            settings: Settings { load_balancer_distribute_bundles_evenly_enabled: false, ..Settings::default() },
            now: 1_000_000,
        }
    }

    /// Broker `id` reports this CPU usage, 1 being 100 %, and bundles with these bytes per second.
    fn report(&mut self, id: &str, cpu: f64, bundles: &[(&str, f64)]) {
        let stats = |throughput: f64| BundleStats {
            msg_throughput_in: throughput,
            msg_rate_in: throughput / 1_000.0,
            topics: 2,
            ..BundleStats::default()
        };
        let usage = HostUsage { cpu: ResourceUsage::new(cpu, 1.0), ..HostUsage::default() };
        let mut report = LocalBrokerData {
            persistent_topics_enabled: true,
            load_manager_class_name: Some("modular".to_owned()),
            ..LocalBrokerData::default()
        };
        report.update(usage, bundles.iter().map(|&(name, throughput)| (name.into(), stats(throughput))).collect());
        self.now += 1_000;
        report.last_update = self.now;
        self.manager.report(&id.into(), report, |_| None, self.now, &self.settings);
    }

    fn with<T>(&mut self, run: impl FnOnce(&mut ModularManager, &Constraints<'_>, i64, &mut SmallRng) -> T) -> T {
        let constraints = Constraints {
            isolation: &self.isolation,
            anti_affinity: &self.anti_affinity,
            domains: &self.domains,
            non_persistent: &BTreeSet::new(),
            load_manager_class: "modular",
            settings: &self.settings,
        };
        run(&mut self.manager, &constraints, self.now, &mut SmallRng::seed_from_u64(5))
    }

    fn select(&mut self, bundle: &str) -> Option<String> {
        self.with(|manager, constraints, now, rng| {
            manager.select(&bundle.into(), constraints, now, rng).selection.broker.map(String::from)
        })
    }

    fn shed(&mut self) -> Plan {
        self.with(|manager, constraints, now, rng| manager.shed(constraints, now, rng))
    }
}

fn isolation(namespaces: &str, primary: &str, secondary: &str, min_limit: &str) -> IsolationPolicies {
    let mut data = NamespaceIsolationData {
        namespaces: vec![namespaces.to_owned()],
        primary: vec![primary.to_owned()],
        secondary: vec![secondary.to_owned()],
        ..NamespaceIsolationData::default()
    };
    data.auto_failover_policy.parameters.insert("min_limit".to_owned(), min_limit.to_owned());
    IsolationPolicies::new(vec![IsolationPolicy::new("p", &data).unwrap()])
}

#[test]
fn only_the_bundles_of_the_broker_that_reports_get_a_sample() {
    let mut cluster = Cluster::new(OverloadShedder);
    cluster.report("a:1", 0.1, &[("t/n/0", 10.0)]);
    for _ in 0..5 {
        cluster.report("b:1", 0.1, &[("t/n/1", 10.0)]);
    }
    let samples = |bundle: &str| cluster.manager.data().bundles[bundle].short_term_data.num_samples;
    assert_eq!((samples("t/n/0"), samples("t/n/1")), (1, 5));
}

#[test]
fn a_report_that_is_known_already_adds_nothing() {
    let mut cluster = Cluster::new(OverloadShedder);
    cluster.report("a:1", 0.1, &[("t/n/0", 10.0)]);
    let again = cluster.manager.data().brokers["a:1"].local.clone();
    let before = cluster.manager.data().clone();
    cluster.manager.report(&"a:1".into(), again, |_| None, cluster.now, &cluster.settings);
    assert_eq!(cluster.manager.data(), &before);
}

#[test]
fn an_assignment_lasts_until_the_broker_confirms_denies_or_leaves() {
    let mut cluster = Cluster::new(OverloadShedder);
    cluster.report("a:1", 0.1, &[]);
    cluster.report("b:1", 0.2, &[]);
    let is_coming = |cluster: &Cluster| !cluster.manager.data().brokers["a:1"].preallocated.is_empty();
    assert_eq!(cluster.select("t/n/0").as_deref(), Some("a:1"));
    cluster.report("b:1", 0.0, &[]);
    assert!(is_coming(&cluster), "another broker's report says nothing about it");
    assert_eq!(cluster.select("t/n/0").as_deref(), Some("a:1"), "asked again, the answer is the same");
    cluster.report("a:1", 0.1, &[]);
    assert!(is_coming(&cluster), "it may still be loading");
    cluster.report("a:1", 0.1, &[("t/n/0", 1.0)]);
    assert!(!is_coming(&cluster), "it has it");
    assert_eq!(cluster.select("t/n/1").as_deref(), Some("b:1"));
    cluster.now += 61_000;
    cluster.report("b:1", 0.2, &[]);
    assert!(cluster.manager.data().brokers["b:1"].preallocated.is_empty(), "it never took it");
    assert_eq!(cluster.select("t/n/2").as_deref(), Some("b:1"));
    cluster.manager.broker_left("b:1");
    assert_eq!(cluster.select("t/n/2").as_deref(), Some("a:1"));
}

#[test]
fn what_is_assigned_counts_before_it_is_reported() {
    let mut cluster = Cluster::new(OverloadShedder);
    cluster.report("a:1", 0.1, &[]);
    cluster.report("b:1", 0.1, &[]);
    let chosen: Vec<_> = (0..10).filter_map(|i| cluster.select(&format!("t/n/{i}"))).collect();
    assert_eq!(chosen.iter().filter(|broker| *broker == "a:1").count(), 5);
}

#[test]
fn a_broker_with_too_many_topics_on_their_way_gets_no_more() {
    let mut cluster = Cluster::new(OverloadShedder);
    for id in ["a:1", "b:1", "c:1"] {
        cluster.report(id, 0.1, &[]);
    }
    let full = cluster.select("t/n/0").unwrap();
    let data = &mut cluster.manager.data.brokers.get_mut(full.as_str()).unwrap().preallocated;
    data.get_mut("t/n/0").unwrap().topics = 50_010;
    assert!((1..50).all(|i| cluster.select(&format!("t/n/{i}")).unwrap() != full));
}

#[test]
fn isolation_policies_come_before_everything() {
    let select = |min_limit: &str, brokers: &[&str]| {
        let mut cluster = Cluster::new(OverloadShedder);
        cluster.isolation = isolation("t/n", "b1", "b2", min_limit);
        for id in brokers {
            cluster.report(id, 0.1, &[]);
        }
        (0..8).filter_map(|i| cluster.select(&format!("t/n/{i}"))).collect::<BTreeSet<_>>()
    };
    let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(select("1", &["b1:1", "b2:1", "b3:1"]), set(&["b1:1"]));
    assert_eq!(select("1", &["b2:1", "b3:1"]), set(&["b2:1"]));
    assert_eq!(select("1", &["b3:1"]), set(&[]));
    assert_eq!(select("2", &["b1:1", "b2:1", "b3:1"]), set(&["b1:1", "b2:1"]));
}

#[test]
fn namespaces_of_a_group_spread_over_domains_first() {
    let mut cluster = Cluster::new(OverloadShedder);
    cluster.anti_affinity = AntiAffinity::new((0..5).map(|i| (format!("t/n{i}"), "G")));
    cluster.settings.failure_domains_enabled = true;
    for (id, domain) in [("b0:1", "x"), ("b1:1", "x"), ("b2:1", "y"), ("b3:1", "y")] {
        cluster.domains.insert(id.into(), domain.to_owned());
        cluster.report(id, 0.1, &[]);
    }
    let chosen: Vec<String> = (0..4).filter_map(|i| cluster.select(&format!("t/n{i}/0"))).collect();
    let domain = |i: usize| cluster.domains[chosen[i].as_str()].clone();
    assert_ne!(domain(0), domain(1));
    assert_eq!(chosen.iter().collect::<BTreeSet<_>>().len(), 4, "no broker has two before each has one");
}

#[test]
fn excluded_namespaces_are_placed_in_turn_and_never_shed() {
    let mut cluster = Cluster::new(OverloadShedder);
    cluster.settings.load_balancer_shedding_excluded_namespaces.insert("t/x".to_owned());
    cluster.report("a:1", 0.95, &[("t/x/0", 50.0 * MIB), ("t/x/1", 40.0 * MIB)]);
    cluster.report("b:1", 0.1, &[]);
    let plan = cluster.shed();
    assert_eq!((plan.moves.len(), plan.explanation.blocked), (0, Some(Block::NoBundles)));
    assert_eq!(plan.explanation.bundle("t/x/0").unwrap().rule, BundleRule::ExcludedNamespace);
    let chosen: Vec<_> = (2..6).filter_map(|i| cluster.select(&format!("t/x/{i}"))).collect();
    assert_eq!(chosen, ["a:1", "b:1", "a:1", "b:1"]);
}

#[test]
fn when_every_broker_is_overloaded_any_allowed_one_is_chosen() {
    let mut cluster = Cluster::new(OverloadShedder);
    for id in ["a:1", "b:1"] {
        cluster.report(id, 0.95, &[]);
    }
    let rule = cluster.with(|manager, constraints, now, rng| {
        let assignment = manager.select(&"t/n/0".into(), constraints, now, rng);
        assert!(assignment.selection.broker.is_some());
        assignment.rule
    });
    assert_eq!(rule, AssignmentRule::Overloaded);
}

#[test]
fn bug_pulsar_20822_a_bundle_that_would_come_back_is_not_unloaded() {
    let mut cluster = Cluster::new(ThresholdShedder::default());
    cluster.settings.load_balancer_distribute_bundles_evenly_enabled = true;
    // The even filter keeps only a, which has fewer bundles of the namespace.
    let names: Vec<String> = (0..6).map(|i| format!("t/n/{i}")).collect();
    cluster.report("a:1", 0.80, &[(&names[0], 50.0 * MIB), (&names[1], 40.0 * MIB)]);
    let rest: Vec<(&str, f64)> = names[2..].iter().map(|name| (name.as_str(), MIB)).collect();
    cluster.report("b:1", 0.1, &rest);
    let plan = cluster.shed();
    assert!(plan.moves.is_empty());
    assert_eq!(plan.explanation.blocked, Some(Block::NoBundles));
    assert_eq!(plan.explanation.bundle(&names[0]).unwrap().rule, BundleRule::NoDestination);
    assert!(cluster.manager.data().brokers["b:1"].preallocated.is_empty());
}

#[test]
fn bug_pulsar_18173_once_balanced_nothing_moves_any_more() {
    let mut cluster = Cluster::new(ThresholdShedder::default());
    let names: Vec<String> = (0..9).map(|i| format!("t/n/{i}")).collect();
    // Each bundle is 10 points of usage; b has 10 points of its own.
    let mut on_b = BTreeSet::new();
    let mut rounds = 0;
    for _ in 0..30 {
        let bundles = names.iter().map(|name| (name.as_str(), 50.0 * MIB));
        let (b, a): (Vec<_>, Vec<_>) = bundles.partition(|(name, _)| on_b.contains(*name));
        cluster.report("a:1", 0.1 * a.len() as f64, &a);
        cluster.report("b:1", 0.1 + 0.1 * b.len() as f64, &b);
        cluster.now += 60 * 60_000;
        let plan = cluster.shed();
        rounds += usize::from(!plan.moves.is_empty());
        let now = cluster.now;
        for m in plan.moves {
            cluster.manager.moved(&m.bundle, &m.from, m.to.as_ref(), now);
            on_b.insert(m.bundle.to_string());
        }
    }
    assert_eq!((rounds, on_b.len()), (1, 4));
}

#[test]
fn the_same_inputs_give_the_same_plan() {
    let plan = || {
        let mut cluster = Cluster::new(ThresholdShedder::default());
        for i in 0..6 {
            let names: Vec<String> = (0..5).map(|j| format!("t/n{i}/{j}")).collect();
            let bundles: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 20.0 * MIB)).collect();
            cluster.report(&format!("b{i}:1"), 0.1 + 0.15 * f64::from(i), &bundles);
        }
        serde_json::to_string(&cluster.shed()).unwrap()
    };
    assert_eq!(plan(), plan());
    assert!(plan().contains("Moves"));
}

#[test]
fn bundles_that_nobody_has_are_forgotten() {
    let mut cluster = Cluster::new(OverloadShedder);
    cluster.report("a:1", 0.1, &[("t/n/0", 1.0), ("t/n/1", 1.0)]);
    cluster.report("a:1", 0.1, &[("t/n/0", 1.0)]);
    cluster.manager.assign(&"t/n/1".into(), &"a:1".into(), cluster.now);
    assert!(cluster.manager.prune_bundles().is_empty(), "it is on its way");
    cluster.manager.move_failed(&"t/n/1".into());
    assert_eq!(cluster.manager.prune_bundles(), ["t/n/1".into()]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A plan moves no bundle twice, none to where it is, none that rests, and none to a broker its policy does not allow.
    #[test]
    fn plans_keep_to_the_constraints(
        usages in prop::collection::vec(0.0..1.2_f64, 2..8),
        sizes in prop::collection::vec(prop::collection::vec(0.1..60.0_f64, 0..12), 8),
        isolated in 0..8_usize,
        overload in any::<bool>(),
    ) {
        let mut cluster = if overload {
            Cluster::new(OverloadShedder)
        } else {
            Cluster::new(ThresholdShedder::default())
        };
        cluster.isolation = isolation("t/n0", &format!("b{isolated}|b0"), "none", "1");
        for (i, usage) in usages.iter().enumerate() {
            let names: Vec<String> = (0..sizes[i].len()).map(|j| format!("t/n{}/{i}-{j}", j % 2)).collect();
            let bundles: Vec<(&str, f64)> = names.iter().map(String::as_str).zip(sizes[i].iter().map(|s| s * MIB)).collect();
            cluster.report(&format!("b{i}:1"), *usage, &bundles);
        }
        let resting: Option<BundleName> = cluster.manager.data().bundles.keys().next().cloned();
        let now = cluster.now;
        cluster.manager.data.recently_unloaded.extend(resting.clone().map(|bundle| (bundle, now)));
        let plan = cluster.shed();
        let mut moved = BTreeSet::new();
        for m in &plan.moves {
            prop_assert!(moved.insert(m.bundle.clone()));
            prop_assert_ne!(Some(&m.bundle), resting.as_ref());
            let to = m.to.as_ref().unwrap();
            prop_assert_ne!(to, &m.from);
            let preferred = [format!("b{isolated}"), "b0".to_owned()].contains(&to.host().to_owned());
            prop_assert_eq!(preferred, m.bundle.namespace() == "t/n0");
        }
        prop_assert_eq!(plan.moves.is_empty(), plan.explanation.blocked.is_some());
    }
}
