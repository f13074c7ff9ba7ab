//! How the leader chooses a broker for a bundle.

use std::collections::BTreeMap;

use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::place::PlacementRequest;
use super::{LoadData, ModularManager};
use crate::constraints::Constraints;
use crate::filter::{
    AntiAffinityFilter, BrokerFacts, BrokerFilter, ClassFilter, Cluster, EvenBundlesFilter, FilterRequest,
    IsolationFilter, MaxTopicsFilter, Removal, VersionFilter, apply_noting, count_namespaces,
};
use crate::names::{BrokerId, BundleName};
use crate::selection::Selection;

/// The filters of the Modular manager that follow the isolation policies, in order.
#[must_use]
pub fn default_filters() -> Vec<Box<dyn BrokerFilter>> {
    vec![
        Box::new(MaxTopicsFilter::MODULAR),
        Box::new(AntiAffinityFilter),
        Box::new(EvenBundlesFilter),
        Box::new(ClassFilter::MODULAR),
        Box::new(VersionFilter),
    ]
}

/// The broker chosen for a bundle, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// What the placement chose. No broker means that nobody may take the bundle.
    pub selection: Selection,
    /// Which candidates it chose from.
    pub rule: AssignmentRule,
    /// The candidates that filters removed.
    pub removals: Vec<Removal>,
}

/// Which candidates a placement chose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AssignmentRule {
    /// The bundle was already on its way there.
    AlreadyAssigned,
    /// The brokers that passed every filter.
    Filtered,
    /// Every broker the isolation policies allow, as the filters left none or could not decide.
    Unfiltered,
    /// Every broker the isolation policies allow, as the best of the filtered ones is overloaded.
    Overloaded,
    /// The brokers in turn, as the namespace is excluded from shedding.
    InTurn,
}

impl Cluster for LoadData {
    fn facts(&self, broker: &BrokerId) -> Option<BrokerFacts<'_>> {
        let data = self.brokers.get(broker)?;
        Some(BrokerFacts {
            load_manager_class: data.local.load_manager_class_name.as_deref(),
            version: data.local.broker_version_string.as_deref(),
            topics: data.local.num_topics,
            incoming_topics: data.incoming_topics(),
            persistent: data.local.persistent_topics_enabled,
            non_persistent: data.local.non_persistent_topics_enabled,
        })
    }
}

impl LoadData {
    /// How many bundles of `namespace` each broker has or is about to get.
    #[must_use]
    pub fn namespace_bundles(&self, namespace: &str) -> BTreeMap<BrokerId, u32> {
        // '0' follows '/', so this spans exactly the names that begin with the namespace and a slash.
        let span = BundleName::from(format!("{namespace}/"))..BundleName::from(format!("{namespace}0"));
        let is_of = |bundle: &&BundleName| bundle.namespace() == namespace;
        let mut counts = BTreeMap::new();
        for (id, broker) in &self.brokers {
            let served = broker.local.bundles.range(span.clone()).filter(is_of).count();
            let coming = broker.preallocated.range(span.clone()).map(|(bundle, _)| bundle);
            let coming = coming.filter(is_of).filter(|bundle| !broker.local.bundles.contains(*bundle)).count();
            if served + coming > 0 {
                counts.insert(id.clone(), u32::try_from(served + coming).unwrap_or(u32::MAX));
            }
        }
        counts
    }

    /// Every bundle with the broker that has it or is about to get it.
    pub(super) fn placed(&self) -> impl Iterator<Item = (&BundleName, &BrokerId)> {
        self.brokers.iter().flat_map(|(id, broker)| {
            broker.local.bundles.iter().chain(broker.preallocated.keys()).map(move |bundle| (bundle, id))
        })
    }
}

impl ModularManager {
    /// Chooses a broker for an unowned bundle and notes that the bundle is on its way there.
    pub fn select(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        now: i64,
        rng: &mut dyn RngCore,
    ) -> Assignment {
        let assigned = self.assigned.get(bundle).map(|(broker, _)| broker.clone());
        if let Some(broker) = assigned.filter(|broker| self.data.brokers.contains_key(broker)) {
            let selection = Selection { best: vec![broker.clone()], broker: Some(broker), scores: Vec::new() };
            return Assignment { selection, rule: AssignmentRule::AlreadyAssigned, removals: Vec::new() };
        }
        let assignment = self.choose(bundle, constraints, rng);
        if let Some(broker) = assignment.selection.broker.clone() {
            self.assign(bundle, &broker, now);
        }
        assignment
    }

    /// Chooses a broker and notes nothing.
    pub(super) fn choose(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        rng: &mut dyn RngCore,
    ) -> Assignment {
        let settings = constraints.settings;
        let namespace = bundle.namespace();
        let namespace_bundles = self.data.namespace_bundles(namespace);
        let group_counts = count_namespaces(bundle, constraints.anti_affinity, self.data.placed());
        let request = FilterRequest {
            bundle,
            non_persistent: constraints.non_persistent.contains(bundle),
            cluster: &self.data,
            isolation: constraints.isolation,
            group_counts: group_counts.as_ref(),
            domains: settings.failure_domains_enabled.then_some(constraints.domains),
            namespace_bundles: &namespace_bundles,
            load_manager_class: constraints.load_manager_class,
            settings,
        };
        let mut allowed: Vec<BrokerId> = self.data.brokers.keys().cloned().collect();
        let mut removals = Vec::new();
        let by_policy = apply_noting(&IsolationFilter, &request, &mut allowed, &mut removals);
        debug_assert!(by_policy.is_ok(), "isolation policies always decide");
        let mut filtered = allowed.clone();
        let all_decided =
            self.filters.iter().all(|f| apply_noting(f.as_ref(), &request, &mut filtered, &mut removals).is_ok());
        let (candidates, mut rule) = if all_decided && !filtered.is_empty() {
            (&filtered, AssignmentRule::Filtered)
        } else {
            (&allowed, AssignmentRule::Unfiltered)
        };
        if settings.load_balancer_shedding_excluded_namespaces.contains(namespace) {
            let broker = self.turns.next(candidates);
            let selection = Selection { best: broker.iter().cloned().collect(), broker, scores: Vec::new() };
            return Assignment { selection, rule: AssignmentRule::InTurn, removals };
        }
        let request = |candidates| PlacementRequest {
            bundle,
            candidates,
            data: &self.data,
            namespace_bundles: &namespace_bundles,
            settings,
        };
        let mut selection = self.placement.select(&request(candidates), rng);
        let weights = settings.weights();
        let chosen = selection.broker.as_ref().and_then(|broker| self.data.brokers.get(broker));
        if chosen.is_some_and(|broker| broker.usage(&weights) > settings.overload_threshold()) {
            let again = self.placement.select(&request(&allowed), rng);
            if again.broker.is_some() {
                (selection, rule) = (again, AssignmentRule::Overloaded);
            }
        }
        Assignment { selection, rule, removals }
    }
}
