use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::{
    HostedBundles, QuotaBook, QuotaInput, Ranked, Ranking, SimpleManager, Strategy, judge_load, pick, report_due, shed,
    smoothed_memory,
};
use crate::constraints::Constraints;
use crate::explain::{BrokerRule, BundleRule};
use crate::filter::{AntiAffinity, IsolationPolicies};
use crate::load::{BundleStats, HostUsage, LoadReport, ReportReason, ResourceQuota, ResourceUsage};
use crate::names::BundleName;
use crate::settings::Settings;

const MINUTES: i64 = 60_000;

/// Broker `i` of the published example: 1 024 of 2 048·(i+1) MB, CPU 60 of 400.
fn example(i: u32) -> Ranking {
    let usage = HostUsage {
        cpu: ResourceUsage::new(60.0, 400.0),
        memory: ResourceUsage::new(1_024.0, 2_048.0 * f64::from(i + 1)),
        bandwidth_in: ResourceUsage::new(100.0, 10_240_000.0),
        bandwidth_out: ResourceUsage::new(100.0, 10_240_000.0),
        ..HostUsage::default()
    };
    Ranking::new(usage, 0.025, &ResourceQuota::ZERO, &ResourceQuota::ZERO)
}

#[test]
fn ranks_of_the_published_example() {
    let each = ResourceQuota::default();
    let ranks = |strategy: Strategy| (0..5).map(|i| strategy.rank(&example(i), &each)).collect::<Vec<_>>();
    assert_eq!(ranks(Strategy::LeastLoadedServer), [50, 25, 16, 15, 15]);
    assert_eq!((0..5).map(|i| example(i).capacity(&each)).collect::<Vec<_>>(), [25, 51, 76, 100, 100]);
    assert_eq!(ranks(Strategy::WeightedRandomSelection), [6, 28, 52, 72, 72]);
}

/// Defaults 20/60/20000/60000/75 of the published example.
fn book() -> QuotaBook {
    let default_quota = ResourceQuota {
        msg_rate_in: 20.0,
        msg_rate_out: 60.0,
        bandwidth_in: 20_000.0,
        bandwidth_out: 60_000.0,
        memory: 75.0,
        dynamic: true,
    };
    QuotaBook { default_quota, ..QuotaBook::default() }
}

fn quota_after(stats: BundleStats, minutes: &[i64]) -> [f64; 5] {
    let bundle: BundleName = "t/n/0x00000000_0xffffffff".into();
    let stats = BTreeMap::from([(bundle.clone(), stats)]);
    let mut book = book();
    for elapsed in minutes {
        book.update(&QuotaInput { stats: &stats, cpu: 0.0, memory: 0.0, elapsed: elapsed * MINUTES });
    }
    let quota = book.quota(&bundle);
    [quota.msg_rate_in, quota.msg_rate_out, quota.bandwidth_in, quota.bandwidth_out, quota.memory]
}

#[test]
fn quotas_fall_slowly_and_rise_quickly() {
    let idle = quota_after(BundleStats::default(), &[30]);
    let expect = [19.69, 58.85, 19_792.0, 58_958.0, 73.96];
    assert!(idle.iter().zip(expect).all(|(a, b)| (a - b).abs() <= b * 1e-3), "{idle:?}");
    let busy = BundleStats {
        msg_rate_in: 40.0,
        msg_rate_out: 120.0,
        msg_throughput_in: 40_000.0,
        msg_throughput_out: 120_000.0,
        topics: 2_500,
        ..BundleStats::default()
    };
    assert_eq!(quota_after(busy, &[30]), [40.0, 120.0, 40_000.0, 120_000.0, 150.0]);
    let day = quota_after(BundleStats::default(), &[30, 24 * 60 - 30]);
    let expect = [5.3, 6.1, 10_204.0, 11_020.0];
    assert!(day.iter().zip(expect).all(|(a, b)| (a - b).abs() <= b * 5e-3), "{day:?}");
}

#[test]
fn a_fixed_quota_stays() {
    let bundle: BundleName = "t/n/0x00000000_0xffffffff".into();
    let fixed = ResourceQuota { dynamic: false, ..ResourceQuota::default() };
    let mut book = book();
    book.bundles.insert(bundle.clone(), fixed);
    let stats = BTreeMap::from([(bundle.clone(), BundleStats { msg_rate_in: 9e9, ..BundleStats::default() })]);
    book.update(&QuotaInput { stats: &stats, cpu: 0.0, memory: 0.0, elapsed: 30 * MINUTES });
    assert_eq!(book.quota(&bundle), &fixed);
}

fn ranked(id: &str, memory: f64, is_idle: bool) -> Ranked {
    let usage = HostUsage { memory: ResourceUsage::new(memory, 100.0), ..HostUsage::default() };
    let ranking = Ranking::new(usage, 0.025, &ResourceQuota::ZERO, &ResourceQuota::ZERO);
    Ranked { broker: id.into(), ranking, is_idle }
}

fn picked(candidates: &[Ranked], turn: usize) -> String {
    let (settings, each) = (Settings::default(), ResourceQuota::default());
    let mut rng = SmallRng::seed_from_u64(3);
    let choice = pick(candidates, Strategy::LeastLoadedServer, &each, turn, &settings, &mut rng);
    choice.unwrap().broker.to_string()
}

#[test]
fn a_broker_is_filled_to_the_underload_threshold_before_an_idle_one_is_opened() {
    assert_eq!(picked(&[ranked("a", 40.0, false), ranked("b", 0.0, true)], 0), "a");
    assert_eq!(picked(&[ranked("a", 51.0, false), ranked("b", 0.0, true)], 0), "b");
    assert_eq!(picked(&[ranked("a", 60.0, false), ranked("b", 70.0, false)], 0), "a");
    assert_eq!(picked(&[ranked("b", 0.0, true)], 0), "b");
}

#[test]
fn when_every_broker_is_full_they_take_turns() {
    let full = [ranked("a", 100.0, false), ranked("b", 100.0, false)];
    assert_eq!((picked(&full, 0), picked(&full, 1), picked(&full, 2)), ("a".into(), "b".into(), "a".into()));
}

#[test]
fn chances_follow_free_capacity() {
    let candidates = [ranked("full", 100.0, false), ranked("free", 0.0, false)];
    let (settings, each) = (Settings::default(), ResourceQuota { memory: 1.0, ..ResourceQuota::ZERO });
    for seed in 0..50 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let choice = pick(&candidates, Strategy::WeightedRandomSelection, &each, 0, &settings, &mut rng);
        assert_eq!(&*choice.unwrap().broker, "free");
    }
}

#[test]
fn an_overloaded_broker_gives_what_needs_most_of_its_scarcest_resource() {
    let host = |cpu: f64, bandwidth: f64| HostUsage {
        cpu: ResourceUsage::new(cpu, 100.0),
        bandwidth_in: ResourceUsage::new(bandwidth, 100.0),
        ..HostUsage::default()
    };
    let stats = BTreeMap::from([
        ("t/n/a".into(), BundleStats { msg_rate_in: 9.0, msg_throughput_in: 1.0, ..BundleStats::default() }),
        ("t/n/b".into(), BundleStats { msg_rate_in: 1.0, msg_throughput_in: 9.0, ..BundleStats::default() }),
        ("pulsar/x:1/c".into(), BundleStats { msg_throughput_in: 99.0, ..BundleStats::default() }),
    ]);
    let (x, y) = ("x:1".into(), "y:1".into());
    let none = BTreeMap::new();
    let hosted = |broker, usage, stats| HostedBundles {
        broker,
        usage,
        ranking: Ranking::new(usage, 0.025, &ResourceQuota::ZERO, &ResourceQuota::ZERO),
        stats,
    };
    let brokers = [hosted(&x, host(50.0, 90.0), &stats), hosted(&y, host(10.0, 10.0), &none)];
    let plan = shed(&brokers, &BTreeMap::new(), &|_, _| true, &Settings::default());
    assert_eq!(plan.moves.iter().map(|m| &*m.bundle).collect::<Vec<_>>(), ["t/n/b"]);
    assert_eq!(plan.explanation.bundle("pulsar/x:1/c").unwrap().rule, BundleRule::Pinned);
    let recent = BTreeMap::from([("t/n/b".into(), 0)]);
    let plan = shed(&brokers, &recent, &|_, _| true, &Settings::default());
    assert_eq!(plan.moves.iter().map(|m| &*m.bundle).collect::<Vec<_>>(), ["t/n/a"]);
    let crowded = [hosted(&x, host(50.0, 90.0), &stats), hosted(&y, host(70.0, 10.0), &none)];
    let plan = shed(&crowded, &BTreeMap::new(), &|_, _| true, &Settings::default());
    assert_eq!(plan.explanation.broker("x:1").unwrap().rule, BrokerRule::NothingMovable);
}

fn report(cpu: f64, bundles: usize, timestamp: i64) -> LoadReport {
    let stats = |i: usize| (format!("t/old/{i}").into(), BundleStats::default());
    let usage = HostUsage {
        cpu: ResourceUsage::new(cpu, 100.0),
        memory: ResourceUsage::new(100.0, 100_000.0),
        ..HostUsage::default()
    };
    LoadReport {
        system_resource_usage: usage,
        bundle_stats: (0..bundles).map(stats).collect(),
        num_bundles: bundles as u64,
        persistent_topics_enabled: true,
        timestamp,
        ..LoadReport::default()
    }
}

#[test]
fn a_report_is_due_by_age_bundles_or_use_of_the_host() {
    let settings = Settings::default();
    let due = |now: &LoadReport, age: i64, checked: bool| report_due(&report(10.0, 1, 0), now, age, checked, &settings);
    assert_eq!(due(&report(10.0, 1, 0), 15 * MINUTES + 1, false), Some(ReportReason::Age));
    assert_eq!(due(&report(10.0, 2, 0), 4_999, true), None);
    assert_eq!(due(&report(10.0, 2, 0), 5_000, false), Some(ReportReason::Bundles));
    assert_eq!(due(&report(20.0, 1, 0), 5_000, true), None);
    assert_eq!(due(&report(20.1, 1, 0), 5_000, true), Some(ReportReason::Usage));
    assert_eq!(due(&report(90.0, 1, 0), 5_000, false), None);
}

#[test]
fn a_report_tells_over_and_underload() {
    let judged = |cpu: f64| {
        let mut report = report(cpu, 0, 0);
        judge_load(&mut report, &Settings::default());
        (report.under_loaded, report.over_loaded)
    };
    assert_eq!([judged(49.0), judged(60.0), judged(86.0)], [(true, false), (false, false), (false, true)]);
}

#[test]
fn memory_is_averaged_over_two_minutes() {
    assert_eq!(smoothed_memory(100.0, 340.0, &Settings::default()), 110.0);
}

#[test]
fn bundles_of_a_namespace_are_spread_and_counted_before_they_are_reported() {
    let mut manager = SimpleManager::new(Strategy::LeastLoadedServer, QuotaBook::default());
    manager.report(&"a:1".into(), report(10.0, 3, 0));
    manager.report(&"b:1".into(), report(20.0, 3, 0));
    let (settings, none) = (Settings::default(), BTreeSet::new());
    let constraints = Constraints {
        isolation: &IsolationPolicies::default(),
        anti_affinity: &AntiAffinity::default(),
        domains: &BTreeMap::new(),
        non_persistent: &none,
        load_manager_class: "simple",
        settings: &settings,
    };
    let mut rng = SmallRng::seed_from_u64(1);
    let mut select = |manager: &mut SimpleManager, bundle: &str| {
        manager.select(&bundle.into(), &constraints, &mut rng).unwrap().to_string()
    };
    assert_eq!(select(&mut manager, "t/n/0"), "a:1");
    assert_eq!(select(&mut manager, "t/n/1"), "b:1");
    assert_eq!(select(&mut manager, "t/n/0"), "a:1");
    manager.broker_left("a:1");
    assert_eq!(select(&mut manager, "t/n/0"), "b:1");
    assert_eq!(manager.ranking("a:1"), None);
    manager.report(&"c:1".into(), report(99.0, 2, MINUTES));
    let plan = manager.shed(&constraints, MINUTES);
    assert_eq!(plan.moves.iter().map(|m| (&*m.from, &*m.bundle)).collect::<Vec<_>>(), [("c:1", "t/old/0")]);
}
