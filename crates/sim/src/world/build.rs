//! Makes a cluster of a scenario and a seed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use plerion_placement::BundleName;
use plerion_placement::bundle::{BundleRange, Bundles as Ring};
use plerion_placement::filter::{IsolationPolicies, IsolationPolicy};
use plerion_placement::load::NamespaceIsolationData;

use super::drive::{Drive, StepAt};
use super::hosts::{APART, Host};
use super::trace::Trace;
use super::vector::{CPU, IN, MEMORY, OUT, Resources};
use super::{Bundle, NOBODY, Namespace, Root, World, start};
use crate::chance::{Chance, Stream};
use crate::scenario::{Bundles, Scenario, ScenarioError, Sizes};

/// The cluster at the start of a scenario.
///
/// # Errors
/// [`ScenarioError`] when the trace that the scenario names cannot be used.
pub(crate) fn build(scenario: &Scenario, seed: u64) -> Result<World, ScenarioError> {
    let chance = Chance::new(seed);
    let bundles = &scenario.bundles;
    let trace = scenario.load.trace.as_ref().map(|trace| Trace::read(&trace.file)).transpose()?;
    let hosts = hosts(scenario);
    let total = hosts.iter().fold(Resources::default(), |sum, host| sum + host.capacity);
    let (namespaces, mut roots, names) = match &trace {
        Some(trace) => traced(trace),
        None => generated(bundles, hosts.iter().any(|host| host.isolated)),
    };
    let costs: Vec<f64> = (0..roots.len() as u64).map(|root| cost(bundles, chance, root)).collect();
    let mut trace = trace;
    match &mut trace {
        Some(trace) => set_traced_loads(trace, &mut roots, &costs, bundles, &total),
        None => set_loads(&mut roots, &costs, bundles, &hosts, &total, chance),
    }
    let mut world = World {
        now: 0.0,
        burden: vec![Resources::default(); hosts.len()],
        used: vec![Resources::default(); hosts.len()],
        stale: vec![true; hosts.len()],
        owned: vec![Vec::new(); hosts.len()],
        in_order: vec![false; hosts.len()],
        isolation: Arc::new(isolation(&hosts)),
        splits: bundles.split,
        clients_per_topic: f64::from(bundles.clients.0),
        topic_exponent: bundles.topic_exponent.0,
        chance,
        by_name: HashMap::new(),
        bundles: Vec::new(),
        burdens: Vec::new(),
        drive: Drive::new(&scenario.load, Vec::new(), trace.clone(), chance),
        details: HashMap::new(),
        bundle_counts: Arc::default(),
        version: 0,
        hosts,
        namespaces,
        roots,
    };
    let mut counts = BTreeMap::new();
    names.iter().for_each(|name| *counts.entry(name.namespace().to_owned()).or_insert(0) += 1);
    world.bundle_counts = Arc::new(counts);
    add_bundles(&mut world, names, bundles, chance);
    match &trace {
        Some(trace) => {
            let count = u32::try_from(world.hosts.len()).unwrap_or(1);
            for (bundle, (_, host)) in (0..).zip(&trace.bundles) {
                world.give(bundle, Some(*host % count));
            }
        }
        None => start::place(&mut world, bundles, chance),
    }
    let steps = steps(scenario, &world, chance);
    world.drive = Drive::new(&scenario.load, steps, trace, chance);
    world.settle();
    Ok(world)
}

fn hosts(scenario: &Scenario) -> Vec<Host> {
    let count = scenario.host_count();
    let share = scenario.bundles.isolated.0;
    let apart = if share > 0.0 { part_of(count, share).clamp(1, count.saturating_sub(1).max(1)) } else { 0 };
    // The ones set apart are spread over the groups of hosts.
    let is_apart = |number: usize| apart > 0 && number * apart / count != (number + 1) * apart / count;
    let groups = scenario.hosts.get_ref().iter().flat_map(|group| std::iter::repeat_n(group, group.count.0 as usize));
    groups.enumerate().map(|(number, group)| Host::new(number, group, count > 1 && is_apart(number))).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "counts")]
fn part_of(count: usize, share: f64) -> usize {
    (count as f64 * share).round() as usize
}

/// Namespaces of equal numbers of bundles, some of them set apart if there are hosts for them.
fn generated(bundles: &Bundles, with_apart: bool) -> (Vec<Namespace>, Vec<Root>, Vec<BundleName>) {
    let count = bundles.count.0;
    let namespace_count = bundles.namespaces.map_or_else(|| count.div_ceil(100), |count| count.0).min(count);
    let tenant_count =
        bundles.tenants.map_or_else(|| namespace_count.div_ceil(10), |count| count.0).min(namespace_count);
    let apart = part_of(namespace_count as usize, bundles.isolated.0).min(namespace_count as usize - 1);
    let apart = u32::try_from(apart).unwrap_or(0);
    let (mut namespaces, mut roots, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..namespace_count {
        let tenant = number % tenant_count;
        let isolated = with_apart && number < apart;
        let name = format!("tenant-{tenant}/{}{number}", if isolated { APART } else { "ns-" });
        let members = count / namespace_count + u32::from(number < count % namespace_count);
        let ring = Ring::equal(members).unwrap_or_else(|_| Ring::whole());
        for range in ring.iter() {
            names.push(BundleName::new(&name, range));
            roots.push(Root { namespace: number, range, topics: 1, base: Resources::default(), rates: [0.0; 2] });
        }
        namespaces.push(Namespace { tenant, isolated });
    }
    (namespaces, roots, names)
}

/// The namespaces and bundles a trace names.
fn traced(trace: &Trace) -> (Vec<Namespace>, Vec<Root>, Vec<BundleName>) {
    let (mut namespaces, mut roots, mut names) = (Vec::<Namespace>::new(), Vec::new(), Vec::new());
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut tenants: HashMap<String, u32> = HashMap::new();
    for (name, _) in &trace.bundles {
        let name = BundleName::from(name.as_str());
        let namespace = *known.entry(name.namespace().to_owned()).or_insert_with(|| {
            let tenant = name.namespace().split('/').next().unwrap_or_default().to_owned();
            let next = u32::try_from(tenants.len()).unwrap_or(0);
            let tenant = *tenants.entry(tenant).or_insert(next);
            namespaces.push(Namespace { tenant, isolated: false });
            u32::try_from(namespaces.len() - 1).unwrap_or(0)
        });
        let range = name.range().unwrap_or(BundleRange::FULL);
        roots.push(Root { namespace, range, topics: 1, base: Resources::default(), rates: [0.0; 2] });
        names.push(name);
    }
    (namespaces, roots, names)
}

/// What a bundle's message costs, relative to the median.
fn cost(bundles: &Bundles, chance: Chance, root: u64) -> f64 {
    (bundles.cost_spread.0 * chance.normal(Stream::Cost, root, 0)).exp().clamp(0.25, 4.0)
}

fn set_loads(roots: &mut [Root], costs: &[f64], bundles: &Bundles, hosts: &[Host], total: &Resources, chance: Chance) {
    let weights = weights(bundles, roots.len(), chance);
    let out = match &bundles.usage {
        Some(usage) => usage.get_ref().iter().zip(hosts).map(|(usage, host)| usage.0 * host.capacity.0[OUT]).sum(),
        None => bundles.out.0 * total.0[OUT],
    };
    let fullness = if bundles.out.0 > 0.0 { out / total.0[OUT] / bundles.out.0 } else { 1.0 };
    let sum: f64 = weights.iter().sum();
    let costly: f64 = weights.iter().zip(costs).map(|(weight, cost)| weight * cost).sum();
    for ((root, weight), cost) in roots.iter_mut().zip(weights).zip(costs) {
        let mut base = Resources::default();
        base.0[OUT] = out * weight / sum;
        base.0[IN] = base.0[OUT] / bundles.fan_out.0;
        base.0[CPU] = bundles.cpu.0 * fullness * total.0[CPU] * weight * cost / costly;
        base.0[MEMORY] = bundles.memory.0 * fullness * total.0[MEMORY] * weight / sum;
        root.base = base;
        root.rates = [base.0[IN], base.0[OUT]].map(|bytes| bytes / bundles.message_bytes.0);
    }
}

/// The load of each bundle relative to the others; which one has which is drawn.
#[expect(clippy::cast_precision_loss, reason = "ranks are small")]
fn weights(bundles: &Bundles, count: usize, chance: Chance) -> Vec<f64> {
    let exponent = bundles.exponent.0;
    match bundles.sizes {
        Sizes::Equal => vec![1.0; count],
        Sizes::LogNormal => (0..count as u64).map(|i| (exponent * chance.normal(Stream::Size, i, 0)).exp()).collect(),
        Sizes::Zipf => {
            let mut order: Vec<(u64, usize)> =
                (0..count).map(|i| (chance.bits(Stream::Size, i as u64, 1), i)).collect();
            order.sort_unstable();
            let mut weights = vec![0.0; count];
            for (rank, (_, index)) in order.into_iter().enumerate() {
                weights[index] = (rank as f64 + 1.0).powf(-exponent);
            }
            weights
        }
    }
}

fn set_traced_loads(trace: &mut Trace, roots: &mut [Root], costs: &[f64], bundles: &Bundles, total: &Resources) {
    let mut firsts: Vec<([f64; 2], [f64; 2])> = vec![([0.0; 2], [0.0; 2]); roots.len()];
    trace.firsts().for_each(|line| firsts[line.root as usize] = (line.rates, line.bytes));
    let messages: f64 = firsts.iter().zip(costs).map(|((rates, _), cost)| rates.iter().sum::<f64>() * cost).sum();
    let bytes: f64 = firsts.iter().map(|(_, bytes)| bytes.iter().sum::<f64>()).sum();
    let per_message = bundles.cpu.0 * total.0[CPU] / messages.max(1e-9);
    let per_byte = bundles.memory.0 * total.0[MEMORY] / bytes.max(1e-9);
    trace.costs = costs.iter().map(|cost| [per_message * cost, per_byte]).collect();
    trace.advance(0.0, roots);
}

fn add_bundles(world: &mut World, names: Vec<BundleName>, bundles: &Bundles, chance: Chance) {
    let spread = u64::from(bundles.topics.0);
    // Harmonic sums, so that the largest topic's share needs no look at all topics.
    let mut sums = vec![0.0];
    for (index, name) in (0_u32..).zip(names) {
        let topics = 1 + spread / 2 + chance.below(Stream::Topics, u64::from(index), 0, spread.max(1));
        let topics = u32::try_from(if spread == 1 { 1 } else { topics }).unwrap_or(1);
        let root = &mut world.roots[index as usize];
        root.topics = topics;
        while sums.len() <= topics as usize {
            #[expect(clippy::cast_precision_loss, reason = "topics are few")]
            let next = (sums.len() as f64).powf(-bundles.topic_exponent.0);
            sums.push(sums[sums.len() - 1] + next);
        }
        #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
        let largest_topic = (1.0 / sums[topics as usize]) as f32;
        world.by_name.insert(name.clone(), index);
        let range = root.range;
        world.bundles.push(Bundle {
            name,
            root: index,
            range,
            share: 1.0,
            largest_topic,
            topics,
            owner: NOBODY,
            exists: true,
        });
    }
}

/// One policy that keeps the namespaces and hosts set apart together, by what their names have in common.
fn isolation(hosts: &[Host]) -> IsolationPolicies {
    if !hosts.iter().any(|host| host.isolated) {
        return IsolationPolicies::default();
    }
    let data = NamespaceIsolationData {
        namespaces: vec![format!(".*/{APART}.*")],
        primary: vec![format!("{APART}.*")],
        ..NamespaceIsolationData::default()
    };
    IsolationPolicies::new(IsolationPolicy::new("apart", &data).into_iter().collect())
}

/// When each step of the load happens, and to which bundle.
fn steps(scenario: &Scenario, world: &World, chance: Chance) -> Vec<StepAt> {
    (0..)
        .zip(&scenario.load.step)
        .filter_map(|(number, step)| {
            let latest = step.to.unwrap_or(step.from).0;
            let at = step.from.0 + (latest - step.from.0).max(0.0) * chance.unit(Stream::StepTime, number, 0);
            let share = |bundle: u32| {
                let owner = world.bundles[bundle as usize].owner as usize;
                world.load(bundle).0[OUT] / world.used[owner].0[OUT].max(1e-9)
            };
            let fits = |bundle: &u32| (step.least.0..=step.most.0).contains(&share(*bundle));
            let fitting: Vec<u32> = world.bundles_alive().filter(fits).collect();
            let drawn = chance.below(Stream::StepBundle, number, 0, fitting.len().max(1) as u64);
            let nearest = || {
                let middle = f64::midpoint(step.least.0, step.most.0);
                let distance = |bundle: &u32| (share(*bundle) - middle).abs();
                world.bundles_alive().min_by(|a, b| distance(a).total_cmp(&distance(b)))
            };
            let bundle = usize::try_from(drawn).ok().and_then(|drawn| fitting.get(drawn).copied()).or_else(nearest)?;
            Some(StepAt { at: at.round(), root: world.bundles[bundle as usize].root, factor: step.factor.0 })
        })
        .collect()
}
