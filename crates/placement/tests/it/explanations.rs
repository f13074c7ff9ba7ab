//! Explanations are true: a record replays to the same plan, and when the rule that held a bundle is relaxed, the verdict
//! is another one.

use plerion_placement::explain::{Block, BrokerRule, BundleRule, Plan};
use plerion_placement::load::{BundleData, MessageAverages, ResourceUsage, Sample};
use plerion_placement::modular::{BrokerData, LoadData, ShedRecord};
use plerion_placement::{BrokerId, BundleName, Registry, Settings};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const SHEDDERS: [&str; 4] = ["threshold", "overload", "uniform", "avg"];

fn bundle_data(traffic: f64) -> BundleData {
    let sample = Sample { throughput_in: traffic * 1e6, rate_in: traffic * 1e3, ..Sample::default() };
    BundleData { short_term_data: MessageAverages::new(10, sample), ..BundleData::default() }
}

/// A random cluster with every obstacle a bundle can meet.
fn cluster(rng: &mut SmallRng) -> LoadData {
    let mut data = LoadData::default();
    for b in 0..rng.random_range(2..7) {
        let mut broker = BrokerData::default();
        broker.local.usage.cpu = ResourceUsage::new(rng.random_range(0.0..1.2), 1.0);
        for i in 0..rng.random_range(0..7) {
            let bundle: BundleName = match rng.random_range(0..20) {
                0 => format!("pulsar/b{b}:1/{i}").into(),
                _ => format!("t/n/{b}-{i}").into(),
            };
            let traffic = if rng.random_bool(0.1) { 0.0 } else { rng.random_range(0.1..50.0) };
            if rng.random_bool(0.95) {
                data.bundles.insert(bundle.clone(), bundle_data(traffic));
                broker.local.msg_throughput_in += traffic * 1e6;
                broker.local.msg_rate_in += traffic * 1e3;
            }
            if rng.random_bool(0.1) {
                data.recently_unloaded.insert(bundle.clone(), 0);
            }
            broker.local.bundles.insert(bundle);
        }
        data.brokers.insert(format!("b{b}:1").into(), broker);
    }
    data
}

fn settings(rng: &mut SmallRng) -> Settings {
    Settings {
        max_unload_bundle_num_per_shedding: rng.random_range(-1..3),
        max_unload_percentage: rng.random_range(0.05..0.6),
        load_balancer_avg_shedder_hit_count_high_threshold: rng.random_range(1..3),
        ..Settings::default()
    }
}

/// What the plan says of a bundle: the rule about itself, about its broker, or about the whole cycle.
fn verdict(plan: &Plan, bundle: &str, broker: &str) -> String {
    let own = plan.explanation.bundle(bundle).map(|verdict| format!("{:?}", verdict.rule));
    let of_broker = || plan.explanation.broker(broker).map(|verdict| format!("{:?}", verdict.rule));
    own.or_else(of_broker).unwrap_or_else(|| format!("{:?}", plan.explanation.blocked))
}

/// Changes the record so that the rule that decided about the bundle no longer applies. False where a rule cannot be
/// relaxed from outside, or there is nothing to relax.
fn relax(record: &mut ShedRecord, bundle: &BundleName, broker: &BrokerId) -> bool {
    let own = record.plan.explanation.bundle(bundle).map(|verdict| verdict.rule);
    let of_broker = record.plan.explanation.broker(broker).map(|verdict| verdict.rule);
    let settings = &mut record.settings;
    match own {
        Some(BundleRule::Moves | BundleRule::Pinned) => return false,
        Some(BundleRule::RecentlyMoved) => drop(record.data.recently_unloaded.remove(bundle)),
        Some(BundleRule::NoStatistics) => drop(record.data.bundles.insert(bundle.clone(), bundle_data(1.0))),
        Some(BundleRule::NoTraffic) => drop(record.data.bundles.insert(bundle.clone(), bundle_data(0.001))),
        Some(BundleRule::LimitReached) => settings.max_unload_bundle_num_per_shedding = -1,
        Some(BundleRule::TooBig | BundleRule::EnoughChosen) => {
            settings.max_unload_percentage = 1_000.0;
            let local = &mut record.data.brokers.get_mut(broker).unwrap().local;
            local.msg_throughput_in *= 1_000.0;
            local.msg_rate_in *= 1_000.0;
        }
        Some(other) => panic!("{other:?} is no rule of these shedders"),
        None => match of_broker {
            Some(BrokerRule::WithinLimits) => {
                settings.load_balancer_broker_threshold_shedder_percentage = -1_000.0;
                settings.load_balancer_broker_overloaded_threshold_percentage = -1.0;
                settings.load_balancer_avg_shedder_low_threshold = -1.0;
            }
            Some(BrokerRule::HitCount) => settings.load_balancer_avg_shedder_hit_count_low_threshold = 0,
            Some(BrokerRule::TooLittle) => {
                settings.load_balancer_bundle_unload_min_throughput_threshold = -1.0;
                settings.min_unload_message = i64::MIN / 4;
                settings.min_unload_message_throughput = i64::MIN / 4;
            }
            Some(BrokerRule::SoleBundle) => {
                let other: BundleName = "t/n/another".into();
                record.data.bundles.insert(other.clone(), bundle_data(1.0));
                record.data.brokers.get_mut(broker).unwrap().local.bundles.insert(other);
            }
            _ => match record.plan.explanation.blocked {
                Some(Block::Balanced) => {
                    settings.load_balancer_avg_shedder_low_threshold = -1.0;
                    settings.load_balancer_msg_rate_difference_shedder_threshold = 1e-9;
                    settings.load_balancer_msg_throughput_multiplier_difference_shedder_threshold = 1e-9;
                    let local = &mut record.data.brokers.get_mut(broker).unwrap().local;
                    local.msg_rate_in += 1e7;
                    local.msg_throughput_in += 1e10;
                }
                _ => return false,
            },
        },
    }
    true
}

#[test]
fn relaxing_the_named_rule_changes_the_verdict() {
    let registry = Registry::default();
    let mut checked = 0;
    let mut kept = Vec::new();
    for seed in 0_u64.. {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (data, settings) = (cluster(&mut rng), settings(&mut rng));
        let mut shedder = registry.shedder(SHEDDERS[rng.random_range(0..4)]).unwrap();
        shedder.decide(&data, &settings);
        let record = ShedRecord::take(shedder.as_mut(), &data, &settings);
        assert_eq!(record.replay(&registry).unwrap(), record.plan, "seed {seed}");
        let bundles: Vec<(&BrokerId, &BundleName)> = data
            .brokers
            .iter()
            .flat_map(|(id, broker)| broker.local.bundles.iter().map(move |bundle| (id, bundle)))
            .collect();
        if bundles.is_empty() {
            continue;
        }
        let (broker, bundle) = bundles[rng.random_range(0..bundles.len())];
        let mut relaxed = record.clone();
        if relax(&mut relaxed, bundle, broker) {
            let before = verdict(&record.plan, bundle, broker);
            let after = verdict(&relaxed.replay(&registry).unwrap(), bundle, broker);
            assert_ne!(before, after, "seed {seed}: {bundle} of {broker} under {}", record.shedder);
            checked += 1;
        } else {
            kept.push(verdict(&record.plan, bundle, broker));
        }
        if checked == 1_000 {
            break;
        }
    }
    // Only what moved, is pinned or was not reached because another broker was chosen has no rule to relax.
    kept.sort();
    kept.dedup();
    println!("relaxed 1000 verdicts; not relaxable: {kept:?}");
}

#[test]
fn a_record_survives_being_stored() {
    let registry = Registry::default();
    for seed in 0..100 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (data, settings) = (cluster(&mut rng), settings(&mut rng));
        let mut shedder = registry.shedder(SHEDDERS[rng.random_range(0..4)]).unwrap();
        for _ in 0..rng.random_range(0..4) {
            shedder.decide(&data, &settings);
        }
        let record = ShedRecord::take(shedder.as_mut(), &data, &settings);
        let read: ShedRecord = serde_json::from_slice(&serde_json::to_vec(&record).unwrap()).unwrap();
        assert_eq!((&read, read.digest()), (&record, record.digest()), "seed {seed}");
        assert_eq!(read.replay(&registry).unwrap(), record.plan, "seed {seed}");
    }
}

#[test]
fn a_cycle_without_moves_names_what_blocked_it() {
    let registry = Registry::default();
    for seed in 0..300 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (data, settings) = (cluster(&mut rng), settings(&mut rng));
        for name in SHEDDERS {
            let plan = registry.shedder(name).unwrap().decide(&data, &settings);
            assert_eq!(plan.moves.is_empty(), plan.explanation.blocked.is_some(), "seed {seed}: {name}");
        }
    }
}
