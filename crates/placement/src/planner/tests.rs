use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::{Class, Group, Outline, PlanBroker, PlanBundle, PlanInput, PlanOptions, Vector, lower_bound, plan};
use crate::explain::Block;

/// Hosts of (capacity, foreign load), and bundles of (owner, load), all resources alike.
fn cluster(hosts: &[(f32, f32)], bundles: &[(u32, f32)]) -> PlanInput {
    let broker = |&(capacity, foreign): &(f32, f32)| PlanBroker {
        tolerates: 0.0,
        capacity: Vector::all(capacity),
        foreign: Vector::all(foreign),
    };
    let bundle = |&(owner, load): &(u32, f32)| PlanBundle {
        owner,
        load: Vector::all(load),
        class: None,
        group: None,
        held: false,
    };
    PlanInput {
        brokers: hosts.iter().map(broker).collect(),
        bundles: bundles.iter().map(bundle).collect(),
        classes: Vec::new(),
    }
}

/// The cluster after the plan.
fn apply(input: &PlanInput, plan: &Outline) -> PlanInput {
    let mut after = input.clone();
    for step in &plan.moves {
        let bundle = &mut after.bundles[step.bundle as usize];
        assert_eq!(bundle.owner, step.from);
        bundle.owner = step.to;
    }
    after
}

fn utilisations(input: &PlanInput) -> Vec<f64> {
    let mut used: Vec<[f64; 4]> = input.brokers.iter().map(|b| b.foreign.0.map(f64::from)).collect();
    for bundle in &input.bundles {
        used[bundle.owner as usize].iter_mut().zip(bundle.load.0).for_each(|(u, l)| *u += f64::from(l));
    }
    let share = |used: &f64, capacity: f32| if *used <= 1e-6 { 0.0 } else { used / f64::from(capacity) };
    let greatest = |used: &[f64; 4], broker: &PlanBroker| {
        used.iter().zip(broker.capacity.0).map(|(used, capacity)| share(used, capacity)).fold(0.0, f64::max)
    };
    used.iter().zip(&input.brokers).map(|(used, broker)| greatest(used, broker)).collect()
}

fn peak(input: &PlanInput) -> f64 {
    utilisations(input).into_iter().fold(0.0, f64::max)
}

/// Moves without a noise band, so that small clusters are evened out as well.
fn exact() -> PlanOptions {
    PlanOptions { gap: 0.02, band: 0.0 }
}

/// `count` bundles whose loads follow Zipf's law with exponent 0.8, spread unevenly over `hosts`.
fn skewed(hosts: &[(f32, f32)], count: u32, rng: &mut SmallRng) -> PlanInput {
    let mut loads: Vec<f32> = (1..=count).map(|rank| (rank as f32).powf(-0.8)).collect();
    let total: f32 = loads.iter().sum();
    let capacity: f32 = hosts.iter().map(|(capacity, _)| capacity).sum();
    loads.iter_mut().for_each(|load| *load *= 0.4 * capacity / total);
    loads.shuffle(rng);
    let hosts_count = u32::try_from(hosts.len()).unwrap();
    let owner = |rng: &mut SmallRng| rng.random_range(0..hosts_count).min(rng.random_range(0..hosts_count));
    let bundles: Vec<(u32, f32)> = loads.into_iter().map(|load| (owner(rng), load)).collect();
    cluster(hosts, &bundles)
}

#[test]
fn a_skewed_cluster_is_even_after_one_round() {
    for seed in 0..20 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let hosts: Vec<(f32, f32)> =
            (0..10).map(|_| (rng.random_range(1.0..4.0), rng.random_range(0.0..0.2))).collect();
        let input = skewed(&hosts, 1_000, &mut rng);
        let bound = lower_bound(&input);
        let first = plan(&input, PlanOptions::default());
        let after = apply(&input, &first);
        assert!(peak(&after) <= 1.02 * bound + 1e-6, "seed {seed}: {} of {bound}", peak(&after) / bound);
        assert_eq!(plan(&after, PlanOptions::default()).moves.len(), 0, "seed {seed}");
        let needed: f64 = utilisations(&input)
            .iter()
            .zip(&input.brokers)
            .map(|(u, b)| (u - 1.02 * bound).max(0.0) * f64::from(b.capacity.0[0]))
            .sum();
        let moved: f64 = first.moves.iter().map(|step| input.bundles[step.bundle as usize].load.greatest()).sum();
        assert!(moved <= 1.15 * needed, "seed {seed}: moved {moved}, needed {needed}");
    }
}

#[test]
fn bug_pip_364_load_that_cannot_move_is_told_apart() {
    // Usages 10, 50 and 70, where the 70 is not the broker's own.
    let input = cluster(
        &[(100.0, 0.0), (100.0, 0.0), (100.0, 70.0)],
        &[(0, 10.0), (1, 10.0), (1, 10.0), (1, 10.0), (1, 10.0), (1, 10.0)],
    );
    assert!((lower_bound(&input) - 0.7).abs() < 1e-6, "nobody can be relieved below what is foreign");
    assert_eq!(plan(&input, exact()).blocked, Some(Block::Balanced));
    let relieved = cluster(
        &[(100.0, 0.0), (100.0, 0.0), (100.0, 20.0)],
        &[(0, 10.0), (1, 10.0), (1, 10.0), (1, 10.0), (1, 10.0), (1, 10.0)],
    );
    let plan = plan(&relieved, exact());
    assert!((peak(&apply(&relieved, &plan)) - 0.3).abs() < 1e-6);
    assert_eq!(plan.moves.len(), 2);
}

#[test]
fn bug_pulsar_17456_an_idle_broker_gets_its_share_and_roles_do_not_flip() {
    let bundles: Vec<(u32, f32)> = (0..27).map(|i| (i % 3, 5.0)).chain([(3, 5.0)]).collect();
    let input = cluster(&[(100.0, 0.0); 4], &bundles);
    let plan = plan(&input, exact());
    let after = apply(&input, &plan);
    let used = utilisations(&after);
    assert_eq!(plan.moves.len(), 6);
    assert!(used.iter().all(|used| (used - 0.35).abs() < 1e-6), "{used:?}");
}

#[test]
fn bug_pulsar_18215_a_single_busy_broker_and_a_single_idle_one() {
    let mut bundles: Vec<(u32, f32)> = (0..12).map(|_| (0, 1.0)).collect();
    bundles.extend([(1, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]);
    let input = cluster(&[(100.0, 0.0); 4], &bundles);
    assert!((peak(&apply(&input, &plan(&input, exact()))) - 0.04).abs() < 1e-6);
    let bundles: Vec<(u32, f32)> = (0..5).flat_map(|owner| [(owner, 5.0); 10]).collect();
    let input = cluster(&[(100.0, 0.0); 6], &bundles);
    let mean = 250.0 / 600.0;
    assert!(peak(&apply(&input, &plan(&input, exact()))) / mean <= 1.1);
}

#[test]
fn a_host_without_capacity_is_drained() {
    let bundles: Vec<(u32, f32)> = (0..30).map(|i| (i % 3, 1.0 + 0.1 * i as f32)).collect();
    let input = cluster(&[(0.0, 0.0), (100.0, 0.0), (100.0, 0.0)], &bundles);
    let after = apply(&input, &plan(&input, PlanOptions::default()));
    assert!(after.bundles.iter().all(|bundle| bundle.owner != 0));
    // Also where the bundles are too coarse to reach the target.
    let input = cluster(&[(0.0, 0.0), (10.0, 0.0), (10.0, 0.0)], &[(0, 3.0), (0, 3.0), (0, 3.0), (1, 1.0)]);
    let after = apply(&input, &plan(&input, PlanOptions::default()));
    assert!(after.bundles.iter().all(|bundle| bundle.owner != 0));
}

#[test]
fn noise_within_the_band_moves_nothing() {
    let input = cluster(&[(100.0, 0.0); 2], &[(0, 26.0), (0, 26.0), (1, 25.0), (1, 23.9)]);
    let options = PlanOptions { gap: 0.02, band: 0.05 };
    assert_eq!(plan(&input, options).blocked, Some(Block::Balanced));
}

#[test]
fn a_bundle_too_big_to_be_placed_better_stays() {
    let input = cluster(&[(100.0, 0.0); 2], &[(0, 60.0), (1, 5.0)]);
    let plan = plan(&input, exact());
    assert_eq!((plan.moves.len(), plan.blocked), (0, Some(Block::Balanced)));
}

#[test]
fn an_exchange_is_found_where_no_move_helps() {
    let input = cluster(&[(10.0, 0.0); 2], &[(0, 5.0), (0, 4.0), (1, 3.0), (1, 2.0)]);
    let plan = plan(&input, exact());
    assert!((peak(&apply(&input, &plan)) - 0.7).abs() < 1e-6, "{:?}", plan.moves);
    assert_eq!(plan.moves.len(), 2);
    assert!(plan.moves.iter().any(|step| step.swaps_back));
}

#[test]
fn a_bundle_where_its_class_forbids_may_stay_so_it_bounds_nothing() {
    let mut input = cluster(&[(10.0, 0.0); 3], &[(0, 4.0), (1, 4.0)]);
    input.classes = vec![vec![false, false, true]];
    input.bundles.iter_mut().for_each(|bundle| bundle.class = Some(Class(0)));
    assert!((lower_bound(&input) - 0.4).abs() < 1e-6);
}

#[test]
fn classes_and_groups_bind_every_move() {
    let mut input = cluster(&[(10.0, 0.0); 3], &[(0, 2.0), (0, 2.0), (0, 2.0), (0, 2.0)]);
    input.classes = vec![vec![true, false, true]];
    input.bundles[0].class = Some(Class(0));
    for bundle in &mut input.bundles[1..] {
        bundle.group = Some(Group(7));
    }
    let after = apply(&input, &plan(&input, exact()));
    assert_ne!(after.bundles[0].owner, 1);
    let mut counts = [0; 3];
    after.bundles[1..].iter().for_each(|bundle| counts[bundle.owner as usize] += 1);
    assert!(counts.iter().all(|count| *count <= 2), "{counts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A plan moves no bundle twice or into a forbidden place, puts nobody who was below it above the target, conserves
    /// load, and never makes the peak worse.
    #[test]
    fn plans_are_sound(seed in any::<u64>()) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let hosts: Vec<(f32, f32)> =
            (0..rng.random_range(2..8)).map(|_| (rng.random_range(1.0..3.0), rng.random_range(0.0..0.5))).collect();
        let count = rng.random_range(1..60);
        let mut input = skewed(&hosts, count, &mut rng);
        input.classes = vec![hosts.iter().map(|_| rng.random_bool(0.5)).collect()];
        for bundle in &mut input.bundles {
            bundle.class = rng.random_bool(0.2).then_some(Class(0));
            bundle.group = rng.random_bool(0.2).then_some(Group(rng.random_range(0..3)));
            bundle.held = rng.random_bool(0.1);
            bundle.load = Vector(bundle.load.0.map(|load| load * rng.random_range(0.5..1.5)));
        }
        let plan = plan(&input, PlanOptions::default());
        let mut moved = std::collections::BTreeSet::new();
        for m in &plan.moves {
            prop_assert!(moved.insert(m.bundle), "moved twice");
            let bundle = &input.bundles[m.bundle as usize];
            prop_assert!(!bundle.held);
            prop_assert!(input.allows(bundle, m.to as usize));
        }
        let after = apply(&input, &plan);
        prop_assert!(peak(&after) <= peak(&input) + 1e-6);
        if !plan.moves.is_empty() {
            let reached = plan.target.max(plan.peak.1);
            for (before, after) in utilisations(&input).iter().zip(utilisations(&after)) {
                prop_assert!(after <= before.max(reached) + 1e-6);
            }
            prop_assert!((peak(&after) - plan.peak.1).abs() < 1e-4);
        }
        prop_assert!(lower_bound(&after) <= peak(&after) + 1e-6);
    }
}

/// The fewest moves that bring every host to `target`, by trying all of up to `most`. Hosts are alike, and so are resources.
fn fewest(input: &PlanInput, target: f64, most: usize) -> Option<usize> {
    fn search(bundles: &[(usize, f64)], used: &mut [f64], target: f64, left: usize) -> bool {
        let above = used.iter().filter(|used| **used > target + 1e-6).count();
        // A move relieves one host at most.
        if above == 0 || above > left {
            return above == 0;
        }
        for (i, &(owner, load)) in bundles.iter().enumerate() {
            for to in (0..used.len()).filter(|to| *to != owner) {
                used[owner] -= load;
                used[to] += load;
                let found = search(&bundles[i + 1..], used, target, left - 1);
                used[owner] += load;
                used[to] -= load;
                if found {
                    return true;
                }
            }
        }
        false
    }
    let capacity = f64::from(input.brokers[0].capacity.0[0]);
    let share = |bundle: &PlanBundle| (bundle.owner as usize, f64::from(bundle.load.0[0]) / capacity);
    let bundles: Vec<(usize, f64)> = input.bundles.iter().map(share).collect();
    let used = utilisations(input);
    (0..=most).find(|moves| search(&bundles, &mut used.clone(), target, *moves))
}

#[test]
fn small_clusters_need_hardly_more_moves_than_the_fewest_possible() {
    let (mut ratios, mut worst) = (Vec::new(), 0.0_f64);
    for seed in 0..600 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let hosts = vec![(10.0, 0.0); rng.random_range(2..5)];
        let count = rng.random_range(4..13);
        let owner = |rng: &mut SmallRng| rng.random_range(0..hosts.len() as u32).min(rng.random_range(0..2));
        let bundles: Vec<(u32, f32)> = (0..count).map(|_| (owner(&mut rng), rng.random_range(0.1..2.0_f32))).collect();
        let input = cluster(&hosts, &bundles);
        let plan = plan(&input, exact());
        if plan.moves.is_empty() {
            continue;
        }
        let reached = peak(&apply(&input, &plan)).max(1.02 * lower_bound(&input));
        let most = plan.moves.len().min(4);
        let Some(fewest) = fewest(&input, reached, most) else { continue };
        let ratio = plan.moves.len() as f64 / fewest.max(1) as f64;
        worst = worst.max(ratio);
        ratios.push(ratio);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("{} instances: mean {mean:.3} times the fewest moves, worst {worst:.2}", ratios.len());
    assert!(ratios.len() >= 500);
    assert!(mean <= 1.1 && worst <= 1.5, "mean {mean}, worst {worst}");
}
