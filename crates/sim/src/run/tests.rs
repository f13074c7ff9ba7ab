use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::balancer::{BrokerInfo, Measurement};
use plerion_placement::explain::Plan;
use plerion_placement::filter::AntiAffinity;
use plerion_placement::{Constraints, Registry};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::scenario::Scenario;
use crate::world::{World, build};

const UNEVEN: &str =
    "duration = \"1m\"\n[[hosts]]\ncount = 5\n[bundles]\ncount = 300\nstart = \"skewed\"\ncost-spread = 1\n";

/// What the leader is told in the first minutes while nothing moves, and its first plan that moves something.
fn first_plan(mut world: World, policy: &str) -> (Vec<Measurement>, Plan) {
    let profile = Registry::default().profile(policy).unwrap();
    let settings = &profile.settings;
    let mut balancer = profile.balancer();
    let mut reporters = Vec::new();
    for host in &world.hosts {
        balancer.broker_joined(&host.id, &BrokerInfo::default(), 0);
        reporters.push(profile.reporter(&host.id, &BrokerInfo::default()));
    }
    for bundle in &world.bundles {
        balancer.owner(&bundle.name, Some(&world.hosts[bundle.owner as usize].id), 0);
    }
    let (isolation, mut rng) = (world.isolation.clone(), StdRng::seed_from_u64(1));
    let (anti_affinity, domains, non_persistent) = (AntiAffinity::default(), BTreeMap::new(), BTreeSet::new());
    let constraints = Constraints {
        isolation: &isolation,
        anti_affinity: &anti_affinity,
        domains: &domains,
        non_persistent: &non_persistent,
        load_manager_class: profile.load_manager_class(),
        settings,
    };
    let mut told = Vec::new();
    for second in 0..900_i64 {
        if (second * 1_000) % profile.clocks.measure == 0 {
            for (host, reporter) in reporters.iter_mut().enumerate() {
                let measured = world.measure(host, second * 1_000);
                if let Some(report) = reporter.measure(&measured, settings).report {
                    balancer.report(&world.hosts[host].id, &report, settings, second * 1_000);
                }
                told.push(measured);
            }
        }
        if (second * 1_000) % profile.clocks.cycle == 0 {
            let plan = balancer.decide(&constraints, second * 1_000, &mut rng);
            if !plan.moves.is_empty() {
                return (told, plan);
            }
        }
    }
    panic!("{policy} never moves anything");
}

#[test]
fn what_is_hidden_decides_nothing() {
    let scenario = Scenario::parse(UNEVEN).unwrap();
    for policy in ["plerion", "threshold", "uniform", "avg"] {
        let world = build(&scenario, 1).unwrap();
        let mut other = world.clone();
        other.exchange_hidden_costs();
        let busiest =
            |world: &World| world.owned_by(0).iter().map(|bundle| world.load(*bundle).0[0]).collect::<Vec<_>>();
        assert_ne!(busiest(&world), busiest(&other), "the true loads differ");
        let (told, plan) = first_plan(world, policy);
        let (told_of_other, plan_for_other) = first_plan(other, policy);
        assert_eq!(told, told_of_other, "{policy}: the reports are equal");
        let text = |plan: &Plan| serde_json::to_string(plan).unwrap();
        assert_eq!(text(&plan), text(&plan_for_other), "{policy}: and so is the plan, bit for bit");
    }
}
