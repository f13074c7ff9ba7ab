//! Plerion's own policy over what the leader knows.

use std::collections::BTreeMap;

use super::{LoadData, ModularManager};
use crate::bundle::special::Special;
use crate::constraints::Constraints;
use crate::explain::Plan;
use crate::filter::{BrokerFilter, FilterRequest, IsolationFilter};
use crate::load::{BundleData, HostUsage, ResourceUsage, Weights};
use crate::names::{BrokerId, BundleName};
use crate::planner::{Class, Group, PlanBroker, PlanBundle, PlanInput, PlanOptions, RESOURCES, Vector, plan};

/// What drives the use of each resource: messages for CPU, bytes for bandwidth. Memory follows no traffic, so it takes no
/// part.
type Drivers = [f64; RESOURCES];

impl ModularManager {
    /// One cycle of Plerion's own policy: a plan with destinations that evens the cluster out in one round.
    ///
    /// What a broker uses beyond what its bundles' traffic costs elsewhere counts as foreign load, which cannot move.
    /// `draining` brokers give everything away. The plan is carried out and noted as one of [`ModularManager::shed`].
    pub fn balance(
        &mut self,
        constraints: &Constraints<'_>,
        draining: &[BrokerId],
        options: PlanOptions,
        now: i64,
    ) -> Plan {
        let grace = constraints.settings.load_balancer_shedding_grace_period_minutes.saturating_mul(60_000);
        self.data.recently_unloaded.retain(|_, unloaded| now.saturating_sub(*unloaded) <= grace);
        let input = plan_input(&self.data, constraints, draining);
        let plan = plan(&input, options);
        for m in &plan.moves {
            if let Some(to) = &m.to {
                self.assign(&m.bundle, to, now);
            }
        }
        plan
    }
}

/// The cluster as the planner sees it, estimated from what brokers report.
#[must_use]
pub fn plan_input(data: &LoadData, constraints: &Constraints<'_>, draining: &[BrokerId]) -> PlanInput {
    let weights = constraints.settings.weights();
    let traffic: Vec<Drivers> = data.brokers.values().map(|broker| sum(broker.local.bundles.iter(), data)).collect();
    let used: Vec<Drivers> = data.brokers.values().map(|broker| shares(&broker.local.usage, &weights)).collect();
    let limits: Vec<Drivers> = data.brokers.values().map(|broker| limits(&broker.local.usage)).collect();
    let greatest = |r: usize| limits.iter().map(|limit| limit[r]).fold(0.0, f64::max);
    let scale: Drivers = std::array::from_fn(greatest);
    let capacity =
        |b: usize, r: usize| if scale[r] > 0.0 && limits[b][r] > 0.0 { limits[b][r] / scale[r] } else { 1.0 };
    let amount = |b: usize, r: usize| used[b][r] * capacity(b, r);
    let cost: Drivers = std::array::from_fn(|r| {
        median((0..traffic.len()).filter(|b| traffic[*b][r] > 0.0).map(|b| amount(b, r) / traffic[b][r]).collect())
    });
    let mut classes = Classes::default();
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    let mut input = PlanInput::default();
    for (b, (id, broker)) in data.brokers.iter().enumerate() {
        let movable: Drivers = std::array::from_fn(|r| amount(b, r).min(cost[r] * traffic[b][r]));
        input.brokers.push(PlanBroker {
            id: id.clone(),
            capacity: if draining.contains(id) { Vector::default() } else { vector(|r| capacity(b, r)) },
            foreign: vector(|r| amount(b, r) - movable[r]),
        });
        for name in &broker.local.bundles {
            let own = data.bundles.get(name).map(drivers).unwrap_or_default();
            let part = |r: usize| if traffic[b][r] > 0.0 { movable[r] * own[r] / traffic[b][r] } else { 0.0 };
            let namespace = name.namespace();
            let next = Group(u32::try_from(groups.len()).unwrap_or(u32::MAX));
            let group = constraints.anti_affinity.group(namespace).map(|group| *groups.entry(group).or_insert(next));
            input.bundles.push(PlanBundle {
                name: name.clone(),
                owner: u32::try_from(b).unwrap_or(u32::MAX),
                load: vector(part),
                class: Some(classes.of(name, data, constraints)),
                group,
                held: is_held(name, data, constraints),
            });
        }
    }
    input.classes = classes.members;
    input
}

fn is_held(bundle: &BundleName, data: &LoadData, constraints: &Constraints<'_>) -> bool {
    let namespace = bundle.namespace();
    Special::of(namespace).is_some()
        || data.recently_unloaded.contains_key(bundle)
        || constraints.settings.load_balancer_shedding_excluded_namespaces.contains(namespace)
}

/// Destinations by what decides about them: the isolation policy, and the kind of topic.
#[derive(Default)]
struct Classes<'a> {
    known: BTreeMap<(Option<&'a str>, bool), Class>,
    members: Vec<Vec<bool>>,
}

impl<'a> Classes<'a> {
    fn of(&mut self, bundle: &BundleName, data: &LoadData, constraints: &Constraints<'a>) -> Class {
        let policy = constraints.isolation.of(bundle.namespace()).map(|policy| policy.name());
        let non_persistent = constraints.non_persistent.contains(bundle);
        if let Some(class) = self.known.get(&(policy, non_persistent)) {
            return *class;
        }
        let request = FilterRequest {
            bundle,
            non_persistent,
            cluster: data,
            isolation: constraints.isolation,
            group_counts: None,
            domains: None,
            namespace_bundles: &BTreeMap::new(),
            load_manager_class: constraints.load_manager_class,
            settings: constraints.settings,
        };
        let mut allowed: Vec<BrokerId> = data.brokers.keys().cloned().collect();
        if IsolationFilter.apply(&request, &mut allowed).is_err() {
            allowed.clear();
        }
        let class = Class(u32::try_from(self.members.len()).unwrap_or(u32::MAX));
        self.members.push(data.brokers.keys().map(|broker| allowed.binary_search(broker).is_ok()).collect());
        self.known.insert((policy, non_persistent), class);
        class
    }
}

fn drivers(bundle: &BundleData) -> Drivers {
    let short = &bundle.short_term_data;
    [short.rate(), short.msg_throughput_in, short.msg_throughput_out, 0.0]
}

fn sum<'a>(bundles: impl Iterator<Item = &'a BundleName>, data: &LoadData) -> Drivers {
    bundles.filter_map(|bundle| data.bundles.get(bundle)).map(drivers).fold([0.0; RESOURCES], |mut sum, drivers| {
        sum.iter_mut().zip(drivers).for_each(|(sum, driver)| *sum += driver);
        sum
    })
}

/// Weighted use of each resource, 1 being 100 %.
fn shares(usage: &HostUsage, weights: &Weights) -> Drivers {
    let share = |resource: ResourceUsage, weight: f64| f64::from(resource.percent()) / 100.0 * weight;
    [
        share(usage.cpu, weights.cpu),
        share(usage.bandwidth_in, weights.bandwidth_in),
        share(usage.bandwidth_out, weights.bandwidth_out),
        0.0,
    ]
}

fn limits(usage: &HostUsage) -> Drivers {
    [usage.cpu.limit, usage.bandwidth_in.limit, usage.bandwidth_out.limit, 0.0]
}

#[expect(clippy::cast_possible_truncation, reason = "single precision is enough for a share of a host")]
fn vector(amount: impl Fn(usize) -> f64) -> Vector {
    Vector(std::array::from_fn(|r| amount(r) as f32))
}

/// The middle value; the lower one of two. 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}
