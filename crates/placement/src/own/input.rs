//! The cluster as the planner sees it.

use std::collections::{BTreeMap, HashSet};

use super::broker::vector;
use super::names::Key;
use super::parts::Part;
use super::slot::{NOBODY, Slot};
use super::{OwnBalancer, seconds};
use crate::bundle::special::Special;
use crate::constraints::Constraints;
use crate::filter::{BrokerFacts, BrokerFilter, Cluster, FilterRequest, IsolationFilter};
use crate::names::{BrokerId, BundleName};
use crate::planner::{Class, Group, PlanBroker, PlanBundle, PlanInput, RESOURCES, Vector};

/// kbit in a byte.
pub(super) const KBIT: f64 = 8e-3;

/// MB in a byte.
pub(super) const MB: f64 = 1e-6;

/// How long a bundle that moved stays where it is, in seconds, unless its broker has to be empty.
const STAYS: u32 = 60;

/// A planner's input, and what its indices stand for.
#[derive(Clone)]
pub(super) struct View {
    pub(super) input: PlanInput,
    /// The broker of each host.
    pub(super) hosts: Vec<u32>,
    /// The slot of each bundle.
    pub(super) slots: Vec<u32>,
    /// What the bundles at the end of the input are parts of.
    pub(super) parts: Vec<Part>,
}

/// What a namespace's name and policies say of all its bundles.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms {
    pub(super) class: Option<Class>,
    pub(super) of_non_persistent: Option<Class>,
    pub(super) group: Option<Group>,
    pub(super) held: bool,
}

impl Cluster for OwnBalancer {
    fn facts(&self, broker: &BrokerId) -> Option<BrokerFacts<'_>> {
        let broker = self.brokers.get(*self.by_id.get(broker)? as usize)?;
        Some(BrokerFacts {
            load_manager_class: None,
            version: broker.info.version.as_deref(),
            topics: 0,
            incoming_topics: 0,
            persistent: broker.info.persistent,
            non_persistent: broker.info.non_persistent,
        })
    }
}

/// What a bundle uses: CPU in percent of a core, bandwidth in kbit/s, memory in MB.
pub(super) fn load(slot: &Slot) -> [f64; RESOURCES] {
    let [rate, bytes_in, bytes_out, memory] = slot.mean.0.map(f64::from);
    let cost = if slot.cost.is_nan() { 0.0 } else { f64::from(slot.cost) };
    [rate * cost, bytes_in * KBIT, bytes_out * KBIT, memory * MB]
}

impl OwnBalancer {
    /// What the bundles of each broker use.
    pub(super) fn used(&self) -> Vec<[f64; RESOURCES]> {
        let mut used = vec![[0.0; RESOURCES]; self.brokers.len()];
        for slot in &self.slots {
            if let Some(used) = used.get_mut(slot.owner as usize) {
                used.iter_mut().zip(load(slot)).for_each(|(used, load)| *used += load);
            }
        }
        used
    }

    /// Capacity of a broker, and what of it is taken for good. A resource without a limit takes no part.
    pub(super) fn host(&self, broker: u32, used: &[f64; RESOURCES]) -> PlanBroker {
        let known = &self.brokers[broker as usize];
        if known.drains {
            return PlanBroker::default();
        }
        let limits = known.limits();
        let mut foreign = known.foreign(*used);
        // What a process needs for itself cannot move either.
        foreign[3] += known.overhead;
        let endless = |limit: f64| if limit > 0.0 { limit } else { 1e30 };
        let foreign = std::array::from_fn(|r| if limits[r] > 0.0 { foreign[r] } else { 0.0 });
        PlanBroker { capacity: vector(limits.map(endless)), foreign: vector(foreign), tolerates: 0.0 }
    }

    pub(super) fn view(&self, constraints: &Constraints<'_>) -> View {
        let used = self.used();
        let mut hosts: Vec<u32> =
            (0_u32..).zip(&self.brokers).filter(|(_, broker)| broker.counts()).map(|(index, _)| index).collect();
        hosts.sort_by(|a, b| self.brokers[*a as usize].id.cmp(&self.brokers[*b as usize].id));
        let mut place = vec![NOBODY; self.brokers.len()];
        (0_u32..).zip(&hosts).for_each(|(index, broker)| place[*broker as usize] = index);
        let mut input = PlanInput {
            brokers: hosts.iter().map(|broker| self.host(*broker, &used[*broker as usize])).collect(),
            ..PlanInput::default()
        };
        let terms = self.terms(constraints, &hosts, &mut input.classes);
        let non_persistent: HashSet<(u32, u32, u32)> = constraints
            .non_persistent
            .iter()
            .filter_map(|bundle| self.names.key(bundle))
            .map(|key| (key.namespace, key.lower, key.upper))
            .collect();
        let mut slots = Vec::with_capacity(self.slots.len());
        input.bundles.reserve_exact(self.slots.len() + 64);
        for (index, slot) in (0_u32..).zip(&self.slots) {
            let Some(owner) = place.get(slot.owner as usize).copied().filter(|owner| *owner != NOBODY) else {
                continue;
            };
            let terms = terms[slot.key.namespace as usize];
            let Key { namespace, lower, upper } = slot.key;
            let is_other = !non_persistent.is_empty() && non_persistent.contains(&(namespace, lower, upper));
            input.bundles.push(PlanBundle {
                owner,
                load: slot_vector(slot),
                class: if is_other { terms.of_non_persistent } else { terms.class },
                group: terms.group,
                held: terms.held,
            });
            slots.push(index);
        }
        View { input, hosts, slots, parts: Vec::new() }
    }

    /// Lets bundles that moved a moment ago stay, unless their broker has to be empty. For the lower bound they count as
    /// movable.
    pub(super) fn let_rest(&self, view: &mut View, now: i64) {
        let now = seconds(now);
        for (bundle, slot) in view.input.bundles.iter_mut().zip(&view.slots) {
            let slot = &self.slots[*slot as usize];
            let rests = slot.moved != 0 && now.saturating_sub(slot.moved) < STAYS;
            if rests && self.brokers.get(slot.owner as usize).is_some_and(|broker| !broker.drains) {
                bundle.held = true;
            }
        }
    }

    /// What each namespace's bundles have to keep to.
    pub(super) fn terms(
        &self,
        constraints: &Constraints<'_>,
        hosts: &[u32],
        classes: &mut Vec<Vec<bool>>,
    ) -> Vec<Terms> {
        let mut known = BTreeMap::new();
        let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
        let excluded = &constraints.settings.load_balancer_shedding_excluded_namespaces;
        let mut class = |name: &str, non_persistent: bool| -> Option<Class> {
            let policy = constraints.isolation.of(name).map(|policy| policy.name().to_owned());
            *known
                .entry((policy, non_persistent))
                .or_insert_with(|| self.class(name, non_persistent, constraints, hosts, classes))
        };
        self.names
            .all()
            .iter()
            .map(|namespace| {
                let name: &str = &namespace.name;
                let next = Group(u32::try_from(groups.len()).unwrap_or(u32::MAX));
                let persistent = class(name, false);
                Terms {
                    class: persistent,
                    of_non_persistent: if constraints.non_persistent.is_empty() {
                        persistent
                    } else {
                        class(name, true)
                    },
                    group: constraints.anti_affinity.group(name).map(|group| *groups.entry(group).or_insert(next)),
                    held: Special::of(name).is_some() || excluded.contains(name),
                }
            })
            .collect()
    }

    /// The class of the hosts that a namespace may use; `None` if that is all of them.
    pub(super) fn class(
        &self,
        namespace: &str,
        non_persistent: bool,
        constraints: &Constraints<'_>,
        hosts: &[u32],
        classes: &mut Vec<Vec<bool>>,
    ) -> Option<Class> {
        let bundle = BundleName::from(format!("{namespace}/"));
        let request = FilterRequest {
            bundle: &bundle,
            non_persistent,
            cluster: self,
            isolation: constraints.isolation,
            group_counts: None,
            domains: None,
            namespace_bundles: &BTreeMap::new(),
            load_manager_class: constraints.load_manager_class,
            settings: constraints.settings,
        };
        let ids: Vec<BrokerId> = hosts.iter().map(|host| self.brokers[*host as usize].id.clone()).collect();
        let mut allowed = ids.clone();
        if IsolationFilter.apply(&request, &mut allowed).is_err() {
            allowed.clear();
        }
        if allowed.len() == ids.len() {
            return None;
        }
        let mut allowed = allowed.iter().peekable();
        classes.push(ids.iter().map(|id| allowed.next_if(|next| *next == id).is_some()).collect());
        Some(Class(u32::try_from(classes.len() - 1).unwrap_or(u32::MAX)))
    }
}

pub(super) fn slot_vector(slot: &Slot) -> Vector {
    vector(load(slot))
}
