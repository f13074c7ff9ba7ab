//! Plerion's own policy as a whole load manager: its plans, its records, its answers.

use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::balancer::{Balancer, BrokerInfo, BundleDetail, Measurement, OwnBundle, OwnReport, Report};
use plerion_placement::bundle::{BundleRange, Bundles};
use plerion_placement::explain::{Block, BundleRule, Plan, Split};
use plerion_placement::filter::{AntiAffinity, IsolationPolicies, IsolationPolicy};
use plerion_placement::load::{BundleStats, HostUsage, NamespaceIsolationData, ResourceUsage};
use plerion_placement::own::OwnBalancer;
use plerion_placement::record::RecordBook;
use plerion_placement::{BrokerId, BundleName, Registry, StoredConstraints};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// kbit/s that a broker can send.
const LIMIT: f64 = 1e6;

/// A cluster with the leader that watches it.
struct Cluster {
    leader: OwnBalancer,
    /// Broker and outgoing use, as a share of a broker, of each bundle.
    bundles: BTreeMap<BundleName, (BrokerId, f64)>,
    brokers: Vec<BrokerId>,
    details: Vec<BundleDetail>,
    constraints: StoredConstraints,
    now: i64,
}

impl Cluster {
    fn new(brokers: usize, bundles: impl IntoIterator<Item = (BundleName, usize, f64)>) -> Self {
        let brokers: Vec<BrokerId> = (0..brokers).map(|b| format!("b{b}:1").into()).collect();
        let bundles = bundles.into_iter().map(|(name, owner, load)| (name, (brokers[owner].clone(), load))).collect();
        let constraints =
            StoredConstraints { load_manager_class: "modular".to_owned(), ..StoredConstraints::default() };
        let mut cluster =
            Self { leader: OwnBalancer::default(), bundles, brokers, details: Vec::new(), constraints, now: 1_000_000 };
        for id in &cluster.brokers {
            cluster.leader.broker_joined(id, &BrokerInfo::default(), cluster.now);
        }
        for (name, (owner, _)) in &cluster.bundles {
            cluster.leader.owner(name, Some(owner), cluster.now);
        }
        cluster
    }

    fn used(&self, broker: &BrokerId) -> f64 {
        self.bundles.values().filter(|(owner, _)| owner == broker).map(|(_, load)| load).sum()
    }

    fn peak(&self) -> f64 {
        self.brokers.iter().map(|broker| self.used(broker)).fold(0.0, f64::max)
    }

    /// Everybody reports, once a second.
    fn watch(&mut self, seconds: usize) {
        for _ in 0..seconds {
            self.now += 1_000;
            for broker in self.brokers.clone() {
                let used = self.used(&broker);
                let usage = HostUsage {
                    cpu: ResourceUsage::new(used * 50.0, 100.0),
                    bandwidth_out: ResourceUsage::new(used * LIMIT, LIMIT),
                    ..HostUsage::default()
                };
                let served = self.bundles.iter().filter(|(_, (owner, _))| *owner == broker);
                let bundles = served.map(|(name, (_, load))| own_bundle(name, *load)).collect();
                let details =
                    self.details.iter().filter(|detail| self.bundles[&detail.bundle].0 == broker).cloned().collect();
                let report = OwnReport { at: self.now, host: usage, own: usage, bundles, details };
                self.leader.report(&broker, &Report::Own(report), &self.constraints.settings, self.now);
            }
        }
    }

    fn decide(&mut self) -> Plan {
        let mut rng = StdRng::seed_from_u64(1);
        self.leader.decide(&self.constraints.get(), self.now, &mut rng)
    }

    /// Carries a plan out.
    fn carry_out(&mut self, plan: &Plan) {
        for split in &plan.splits {
            let detail = self.details.iter().position(|detail| detail.bundle == split.bundle).unwrap();
            let detail = self.details.remove(detail);
            let (owner, load) = self.bundles.remove(&split.bundle).unwrap();
            let children = split.children().unwrap();
            let parent = split.bundle.range().unwrap();
            for child in &children {
                let share = share(&detail, parent, child.range().unwrap());
                self.bundles.insert(child.clone(), (owner.clone(), load * share));
            }
            self.leader.split(&split.bundle, &children, self.now);
        }
        for m in &plan.moves {
            let (owner, _) = self.bundles.get_mut(&m.bundle).unwrap();
            assert_eq!(*owner, m.from);
            *owner = m.to.clone().unwrap();
            self.leader.owner(&m.bundle, m.to.as_ref(), self.now);
            self.leader.finished(m, true, self.now);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "reports have single precision")]
fn own_bundle(name: &BundleName, load: f64) -> OwnBundle {
    let bytes = (load * LIMIT / 8e-3) as f32;
    let rate = bytes / 100.0;
    OwnBundle { bundle: name.clone(), rate, throughput_in: 0.0, throughput_out: bytes, memory: 0.0, topics: 10 }
}

fn share(detail: &BundleDetail, parent: BundleRange, child: BundleRange) -> f64 {
    let width = f64::from(parent.upper() - parent.lower());
    let bucket = |position: u32| (f64::from(position - parent.lower()) / width * 16.0).round() as usize;
    detail.buckets[bucket(child.lower())..bucket(child.upper())].iter().map(|share| f64::from(*share)).sum()
}

fn names(namespace: &str, count: u32) -> Vec<BundleName> {
    Bundles::equal(count).unwrap().iter().map(|range| BundleName::new(namespace, range)).collect()
}

/// Bundles of random sizes on random brokers, the first ones more than the others.
fn skewed(rng: &mut StdRng) -> Cluster {
    let brokers = rng.random_range(2..7);
    let mut bundles = Vec::new();
    for namespace in 0..4 {
        for name in names(&format!("t/n{namespace}"), 16) {
            let owner = rng.random_range(0..brokers).min(rng.random_range(0..brokers));
            bundles.push((name, owner, rng.random_range(0.0..0.02_f64)));
        }
    }
    let mut cluster = Cluster::new(brokers, bundles);
    let data = NamespaceIsolationData {
        namespaces: vec!["t/n3".to_owned()],
        primary: vec![".*".to_owned()],
        ..NamespaceIsolationData::default()
    };
    cluster.constraints.isolation = IsolationPolicies::new(vec![IsolationPolicy::new("all", &data).unwrap()]);
    if rng.random_bool(0.5) {
        cluster.constraints.isolation = IsolationPolicies::default();
        cluster.constraints.anti_affinity = AntiAffinity::new([("t/n2", "apart")]);
    }
    if rng.random_bool(0.3) {
        cluster.constraints.settings.load_balancer_shedding_excluded_namespaces.insert("t/n1".to_owned());
    }
    cluster
}

#[test]
fn a_skewed_cluster_is_even_after_one_plan_and_then_left_alone() {
    for seed in 0..20 {
        let mut rng = StdRng::seed_from_u64(seed);
        let bundles: Vec<_> = names("t/n", 400)
            .into_iter()
            .map(|name| (name, rng.random_range(0..3), rng.random_range(0.001..0.009)))
            .collect();
        let mut cluster = Cluster::new(5, bundles);
        cluster.watch(30);
        let plan = cluster.decide();
        cluster.carry_out(&plan);
        let mean = cluster.brokers.iter().map(|broker| cluster.used(broker)).sum::<f64>() / 5.0;
        assert!(cluster.peak() <= 1.02 * mean, "seed {seed}: {} of {mean}", cluster.peak());
        for _ in 0..60 {
            cluster.watch(1);
            assert_eq!(cluster.decide().moves.len(), 0, "seed {seed}");
        }
    }
}

#[test]
fn a_bundle_too_big_for_any_broker_is_split_in_the_same_plan() {
    let mut bundles: Vec<_> =
        names("t/small", 200).into_iter().enumerate().map(|(i, name)| (name, i % 4, 0.002)).collect();
    let giant = BundleName::new("t/giant", BundleRange::FULL);
    bundles.push((giant.clone(), 0, 1.2));
    let mut cluster = Cluster::new(4, bundles);
    let (buckets, largest_topic) = ([1.0 / 16.0; 16], 0.01);
    cluster.details.push(BundleDetail { bundle: giant.clone(), buckets, largest_topic, largest_topic_hash: 1 });
    cluster.watch(30);
    let plan = cluster.decide();
    assert_eq!(plan.splits.iter().map(|split| &split.bundle).collect::<Vec<_>>(), [&giant]);
    cluster.carry_out(&plan);
    assert!(cluster.peak() <= 1.02 * 0.4, "{}", cluster.peak());
    // What is left of the giant covers its range.
    let mut ranges: Vec<BundleRange> =
        cluster.bundles.keys().filter(|name| name.namespace() == "t/giant").map(|name| name.range().unwrap()).collect();
    ranges.sort();
    assert_eq!((ranges[0].lower(), ranges.last().unwrap().upper()), (0, u32::MAX));
    assert!(ranges.windows(2).all(|pair| pair[0].upper() == pair[1].lower()));
}

#[test]
fn a_drained_broker_gives_everything_away_and_gets_nothing() {
    let bundles: Vec<_> = names("t/n", 90).into_iter().enumerate().map(|(i, name)| (name, i % 3, 0.01)).collect();
    let mut cluster = Cluster::new(3, bundles);
    cluster.watch(30);
    cluster.leader.drain(&"b1:1".into(), true);
    let plan = cluster.decide();
    cluster.carry_out(&plan);
    assert!(cluster.used(&"b1:1".into()) <= 0.0);
    let (mut rng, constraints) = (StdRng::seed_from_u64(1), cluster.constraints.clone());
    let placed = cluster.leader.place(&"t/new/0x00000000_0xffffffff".into(), &constraints.get(), cluster.now, &mut rng);
    assert!(placed.is_some_and(|broker| &*broker != "b1:1"));
}

#[test]
fn a_spike_passes_and_a_lasting_change_is_acted_on_within_ten_seconds() {
    let bundles: Vec<_> = names("t/n", 100).into_iter().enumerate().map(|(i, name)| (name, i % 4, 0.02)).collect();
    let mut cluster = Cluster::new(4, bundles);
    let busy = cluster.bundles.keys().next().unwrap().clone();
    cluster.watch(60);
    let mut seconds_to_act = None;
    for second in 0..60 {
        let factor = match second {
            0..10 => 5.0,
            10..30 => 1.0,
            _ => 2.5,
        };
        cluster.bundles.get_mut(&busy).unwrap().1 = 0.02 * factor;
        cluster.watch(1);
        let plan = cluster.decide();
        if !plan.moves.is_empty() {
            seconds_to_act = Some(second - 30);
            break;
        }
    }
    assert!(seconds_to_act.is_some_and(|seconds| (0..=10).contains(&seconds)), "{seconds_to_act:?}");
}

#[test]
fn plans_are_sound_in_any_cluster() {
    for seed in 0..300 {
        let mut cluster = skewed(&mut StdRng::seed_from_u64(seed));
        cluster.watch(30);
        let before = cluster.peak();
        let total: f64 = cluster.brokers.iter().map(|broker| cluster.used(broker)).sum();
        let plan = cluster.decide();
        assert_eq!(plan.moves.is_empty(), plan.explanation.blocked.is_some(), "seed {seed}");
        let moved: BTreeSet<&BundleName> = plan.moves.iter().map(|m| &m.bundle).collect();
        assert_eq!(moved.len(), plan.moves.len(), "seed {seed}: moved twice");
        let excluded = &cluster.constraints.settings.load_balancer_shedding_excluded_namespaces;
        assert!(moved.iter().all(|bundle| !excluded.contains(bundle.namespace())), "seed {seed}");
        let limit = |name: &str| plan.explanation.limits.iter().find(|(known, _)| known == name).map(|limit| limit.1);
        cluster.carry_out(&plan);
        let after: f64 = cluster.brokers.iter().map(|broker| cluster.used(broker)).sum();
        assert!((after - total).abs() < 1e-9 && cluster.peak() <= before + 1e-6, "seed {seed}");
        for m in &plan.moves {
            let to = cluster.used(m.to.as_ref().unwrap());
            let most = limit("target").unwrap().max(limit("peak after").unwrap());
            assert!(to <= most + 1e-3, "seed {seed}: {to} above {most}");
        }
    }
}

#[test]
fn every_profile_replays_its_cycles_from_their_records() {
    let registry = Registry::default();
    let names_of: Vec<String> =
        registry.profile_names().flat_map(|name| [name.to_owned(), format!("{name}@fast")]).collect();
    for name in names_of {
        let profile = registry.profile(&name).unwrap();
        let mut rng = StdRng::seed_from_u64(5);
        let cluster = skewed(&mut rng);
        let mut leader = profile.balancer();
        let info = BrokerInfo::default();
        let mut book = RecordBook::new(&name, usize::MAX);
        let mut constraints = cluster.constraints.clone();
        constraints.load_manager_class = profile.load_manager_class().to_owned();
        constraints.settings = profile.settings.clone();
        let mut reporters: Vec<_> = cluster.brokers.iter().map(|id| profile.reporter(id, &info)).collect();
        cluster.brokers.iter().for_each(|id| leader.broker_joined(id, &info, 0));
        cluster.bundles.iter().for_each(|(bundle, (owner, _))| leader.owner(bundle, Some(owner), 0));
        let mut acted = 0;
        for cycle in 1..=110_i64 {
            let now = cycle * profile.clocks.cycle;
            for (broker, reporter) in cluster.brokers.iter().zip(&mut reporters) {
                let used = 3.0 * cluster.used(broker) * rng.random_range(0.9..1.1);
                let bundles =
                    cluster.bundles.iter().filter(|(_, (owner, _))| owner == broker).map(|(name, (_, load))| {
                        let stats = BundleStats {
                            msg_throughput_out: load * LIMIT / 8e-3,
                            msg_rate_out: load * LIMIT,
                            topics: 3,
                            ..BundleStats::default()
                        };
                        (name.clone(), stats)
                    });
                let host = HostUsage { bandwidth_out: ResourceUsage::new(used, 1.0), ..HostUsage::default() };
                let measured = Measurement { at: now, host, bundles: bundles.collect(), ..Measurement::default() };
                if let Some(report) = reporter.measure(&measured, &profile.settings).report {
                    leader.report(broker, &report, &profile.settings, now);
                }
            }
            let plan = book.decide(&mut *leader, &constraints.get(), now, &mut rng);
            acted += usize::from(!plan.moves.is_empty());
            assert!(!plan.moves.is_empty() || !plan.splits.is_empty() || plan.explanation.blocked.is_some(), "{name}");
            for m in &plan.moves {
                leader.finished(m, false, now);
            }
            let latest = book.records().next_back().unwrap();
            assert_eq!(latest.replay(&registry).unwrap(), plan, "{name}, cycle {cycle}");
        }
        assert_eq!(book.records().len(), 100);
        assert!(book.records().all(|record| record.plan().is_ok()));
        println!("{name}: {acted} of 110 cycles acted, {} kB of records", book.bytes() / 1_000);
    }
}

#[test]
fn relaxing_the_named_rule_changes_the_own_verdict() {
    let registry = Registry::default();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let (mut checked, mut seed) = (0, 0_u64);
    while checked < 1_000 {
        seed += 1;
        let mut rng = StdRng::seed_from_u64(seed);
        let mut cluster = skewed(&mut rng);
        cluster.watch(if rng.random_bool(0.9) { 30 } else { 1 });
        let mut book = RecordBook::new("plerion", usize::MAX);
        book.decide(&mut cluster.leader, &cluster.constraints.get(), cluster.now, &mut rng);
        let record = book.records().next_back().unwrap();
        for _ in 0..4 {
            let (bundle, (owner, load)) =
                cluster.bundles.iter().nth(rng.random_range(0..cluster.bundles.len())).unwrap();
            let why = record.why(&registry, bundle, owner).unwrap();
            let Some(verdict) = &why.bundle else { panic!("seed {seed}: no verdict on {bundle}: {why}") };
            let rule = verdict.rule;
            *seen.entry(format!("{rule:?}")).or_default() += 1;
            // The same cluster, but for what the rule names.
            let mut relaxed = record.balancer(&registry).unwrap();
            let mut constraints = record.constraints().unwrap();
            match rule {
                BundleRule::Moves | BundleRule::SwapsBack | BundleRule::Splits => continue,
                BundleRule::ExcludedNamespace => {
                    constraints.settings.load_balancer_shedding_excluded_namespaces.clear();
                }
                BundleRule::IsolationPolicy => constraints.isolation = IsolationPolicies::default(),
                // Its broker has to be empty.
                BundleRule::BrokerAtEase | BundleRule::EnoughChosen | BundleRule::TooBig | BundleRule::AntiAffinity => {
                    constraints.anti_affinity = AntiAffinity::default();
                    relaxed.drain(owner, true);
                }
                other => panic!("seed {seed}: {other:?} of {bundle} with {load}"),
            }
            relaxed.ask(bundle);
            let plan = record.replay_with(&mut *relaxed, &constraints).unwrap();
            let after = plan.explanation.bundle(bundle).map(|verdict| verdict.rule);
            assert_ne!(after, Some(rule), "seed {seed}: {bundle} of {owner}");
            checked += 1;
        }
    }
    println!("relaxed 1000 verdicts of {seen:?}");
}

#[test]
fn damaged_records_and_foreign_snapshots_are_refused() {
    let mut leader = OwnBalancer::default();
    let good = skewed(&mut StdRng::seed_from_u64(1)).leader.snapshot();
    for cut in [0, 4, 8, good.len() / 2, good.len() - 1] {
        assert!(leader.restore(&good[..cut]).is_err(), "{cut}");
    }
    assert!(leader.restore(&u64::MAX.to_le_bytes()).is_err());
    assert!(leader.restore(&good).is_ok());
    assert_eq!(leader.snapshot(), good);
}

#[test]
fn a_cut_outside_the_bundle_makes_no_parts() {
    let split =
        |at: &[u32]| Split { bundle: "t/n/0x00000010_0x00000020".into(), broker: "b:1".into(), at: at.to_vec() };
    assert_eq!(split(&[0x18]).children().unwrap().len(), 2);
    assert_eq!(split(&[0x10]).children(), None);
    assert_eq!(split(&[0x18, 0x18]).children(), None);
    let mut lonely = Cluster::new(1, []);
    assert_eq!(lonely.decide().explanation.blocked, Some(Block::TooFewBrokers));
}
