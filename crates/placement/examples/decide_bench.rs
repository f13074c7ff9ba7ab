//! How long Plerion's own policy takes to decide, its record included, and how much memory it needs.
//!
//! `cargo run --release -p plerion-placement --example decide_bench`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that prints figures"
)]

use std::alloc::System;
use std::collections::BTreeMap;
use std::time::Instant;

use plerion_placement::balancer::{Balancer, BrokerInfo, OwnBundle, OwnReport, Report};
use plerion_placement::bundle::{BundleRange, Bundles};
use plerion_placement::filter::{AntiAffinity, IsolationPolicies, IsolationPolicy};
use plerion_placement::load::{FailoverPolicy, HostUsage, NamespaceIsolationData, ResourceUsage};
use plerion_placement::own::OwnBalancer;
use plerion_placement::record::RecordBook;
use plerion_placement::{BrokerId, BundleName, StoredConstraints};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bundles of a namespace.
const EACH: u32 = 100;

/// Share of the bundles that are unevenly spread.
const SKEWED: f64 = 0.12;

/// One of so many namespaces has a policy.
const CONSTRAINED: u32 = 10;

struct Cluster {
    constraints: StoredConstraints,
    reports: Vec<(BrokerId, Report)>,
    bundles: usize,
}

/// A cluster in which the first brokers carry more than the last ones, so that more than 1 % of the bundles have to move.
fn cluster(brokers: u32, bundles: u32, rng: &mut StdRng) -> Cluster {
    let ids: Vec<BrokerId> = (0..brokers).map(|b| format!("broker-{b:04}.cluster.local:8080").into()).collect();
    let mut loads: Vec<f64> = (1..=bundles).map(|rank| f64::from(rank).powf(-0.3)).collect();
    loads.shuffle(rng);
    let total: f64 = loads.iter().sum();
    let limit = 1e7;
    let mut served: Vec<Vec<OwnBundle>> = vec![Vec::new(); ids.len()];
    let mut used = vec![0.0; ids.len()];
    let mut loads = loads.into_iter().map(|load| load / total * 0.5 * limit * f64::from(brokers));
    let tied = u64::from(brokers / 2);
    for namespace in 0..bundles / EACH {
        for range in Bundles::equal(EACH).unwrap().iter() {
            let load = loads.next().unwrap();
            // Mostly even, a part by a triangle: the first broker gets the most. Constrained namespaces start on a host of
            // theirs.
            let draw = rng.random::<f64>();
            let draw = if rng.random_bool(SKEWED) { draw.min(rng.random::<f64>()) } else { draw };
            let span = if namespace % CONSTRAINED == 0 { tied as f64 } else { f64::from(brokers) };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
            let broker = (draw * span) as usize;
            used[broker] += load;
            served[broker].push(bundle(namespace, range, load));
        }
    }
    let usage = |used: f64| HostUsage {
        cpu: ResourceUsage::new(used / limit * 800.0, 1_600.0),
        bandwidth_in: ResourceUsage::new(used / 2.0, limit),
        bandwidth_out: ResourceUsage::new(used, limit),
        ..HostUsage::default()
    };
    let reports = ids.iter().zip(served).zip(used);
    let reports = reports.map(|((id, bundles), used)| {
        let report = OwnReport { at: 1_000, host: usage(used), own: usage(used), bundles, details: Vec::new() };
        (id.clone(), Report::Own(report))
    });
    let reports = reports.collect();
    Cluster { constraints: constraints(brokers / 2), reports, bundles: bundles as usize }
}

fn bundle(namespace: u32, range: BundleRange, load: f64) -> OwnBundle {
    let kind = if namespace.is_multiple_of(CONSTRAINED) { "tied" } else { "free" };
    #[expect(clippy::cast_possible_truncation, reason = "single precision is what reports have")]
    let bytes = (load / 8e-3) as f32;
    OwnBundle {
        bundle: BundleName::new(&format!("tenant-{}/{kind}-{namespace}", namespace % 97), range),
        rate: bytes / 512.0,
        throughput_in: bytes / 2.0,
        throughput_out: bytes,
        memory: 0.0,
        topics: 20,
    }
}

/// The constrained namespaces are tied to the first hosts, which they share with the others.
fn constraints(tied: u32) -> StoredConstraints {
    let hosts = (0..tied).map(|b| format!("broker-{b:04}\\.cluster\\.local")).collect();
    let data = NamespaceIsolationData {
        namespaces: vec![".*/tied-.*".to_owned()],
        primary: Vec::new(),
        secondary: hosts,
        auto_failover_policy: FailoverPolicy {
            parameters: BTreeMap::from([("min_limit".to_owned(), "1".to_owned())]),
            ..Default::default()
        },
        ..NamespaceIsolationData::default()
    };
    StoredConstraints {
        isolation: IsolationPolicies::new(vec![IsolationPolicy::new("tied", &data).unwrap()]),
        anti_affinity: AntiAffinity::default(),
        load_manager_class: "modular".to_owned(),
        ..StoredConstraints::default()
    }
}

fn measure(brokers: u32, bundles: u32) {
    let mut rng = StdRng::seed_from_u64(7);
    let Cluster { constraints, reports, bundles } = cluster(brokers, bundles, &mut rng);
    let region = Region::new(ALLOCATOR);
    let mut balancer = OwnBalancer::default();
    for (id, _) in &reports {
        balancer.broker_joined(id, &BrokerInfo::default(), 0);
    }
    for (id, report) in &reports {
        let Report::Own(report) = report else { continue };
        report.bundles.iter().for_each(|bundle| balancer.owner(&bundle.bundle, Some(id), 0));
    }
    let started = Instant::now();
    reports.iter().for_each(|(id, report)| balancer.report(id, report, &constraints.settings, 1_000));
    let ingest = started.elapsed();
    let change = region.change();
    let bytes = (change.bytes_allocated - change.bytes_deallocated) as f64 / bundles as f64;
    let state = balancer.snapshot();
    let mut times = Vec::new();
    let mut plan = None;
    let mut kept = 0;
    for _ in 0..5 {
        balancer.restore(&state).unwrap();
        let mut book = RecordBook::new("plerion", usize::MAX);
        let started = Instant::now();
        plan = Some(book.decide(&mut balancer, &constraints.get(), 2_000, &mut rng));
        times.push(started.elapsed().as_secs_f64() * 1e3);
        kept = book.bytes();
    }
    times.sort_by(f64::total_cmp);
    let plan = plan.unwrap();
    let limit =
        |name: &str| plan.explanation.limits.iter().find(|(known, _)| known == name).map_or(0.0, |limit| limit.1);
    println!(
        "{brokers:5} brokers {bundles:8} bundles: decide with record {:8.1} ms (median of 5, worst {:.1}), ingest {:6.0} ms, \
         {bytes:5.1} B per bundle, record {:.1} MB, {} moves ({:.1} % of bundles), peak {:.3} -> {:.3} of {:.3}",
        times[2],
        times[4],
        ingest.as_secs_f64() * 1e3,
        kept as f64 / 1e6,
        plan.moves.len(),
        plan.moves.len() as f64 / bundles as f64 * 100.0,
        limit("peak"),
        limit("peak after"),
        limit("lower bound"),
    );
}

fn main() {
    for (brokers, bundles) in [(10, 10_000), (100, 100_000), (300, 300_000), (1_000, 1_000_000)] {
        measure(brokers, bundles);
    }
}
