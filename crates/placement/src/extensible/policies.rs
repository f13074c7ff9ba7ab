//! The cluster as its policies see it: who may own what.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngCore;

use super::{TransferRules, select_least_usage};
use crate::explain::BundleRule;
use crate::filter::{
    AntiAffinity, AntiAffinityFilter, BrokerFilter, ClassFilter, Cluster, FilterRequest, IsolationFilter,
    IsolationPolicies, MaxTopicsFilter, Removal, VersionFilter, apply_noting, count_bundles,
};
use crate::load::BrokerLoadData;
use crate::modular::place::RoundRobin;
use crate::names::{BrokerId, BundleName};
use crate::selection::Selection;
use crate::settings::Settings;

/// The five filters of the Extensible manager, in order.
#[must_use]
pub fn default_filters() -> Vec<Box<dyn BrokerFilter>> {
    vec![
        Box::new(ClassFilter::EXTENSIBLE),
        Box::new(MaxTopicsFilter::EXTENSIBLE),
        Box::new(VersionFilter),
        Box::new(AntiAffinityFilter),
        Box::new(IsolationFilter),
    ]
}

/// Brokers, owners and policies of a cluster at one moment.
#[derive(Clone, Copy)]
pub struct ClusterPolicies<'a> {
    /// The registered brokers, by id.
    pub available: &'a [BrokerId],
    /// What is known of each broker.
    pub cluster: &'a dyn Cluster,
    /// The owner of every owned bundle.
    pub owners: &'a BTreeMap<BundleName, BrokerId>,
    /// Bundles that hold non-persistent topics.
    pub non_persistent: &'a BTreeSet<BundleName>,
    /// The isolation policies.
    pub isolation: &'a IsolationPolicies,
    /// The anti-affinity groups.
    pub anti_affinity: &'a AntiAffinity,
    /// The failure domain of brokers that are in one.
    pub domains: &'a BTreeMap<BrokerId, String>,
    /// The filters, in order.
    pub filters: &'a [Box<dyn BrokerFilter>],
    /// Class name of the manager that decides.
    pub load_manager_class: &'a str,
    /// The settings.
    pub settings: &'a Settings,
}

impl ClusterPolicies<'_> {
    /// Chooses a broker for an unowned bundle: filters, then [`select_least_usage`], or turns for a namespace that is
    /// excluded from shedding. `excluded` brokers are no candidates. A filter that cannot decide is passed over.
    pub fn select(
        &self,
        bundle: &BundleName,
        excluded: &BTreeSet<BrokerId>,
        loads: &BTreeMap<BrokerId, BrokerLoadData>,
        turns: &mut RoundRobin,
        rng: &mut dyn RngCore,
    ) -> (Selection, Vec<Removal>) {
        let mut candidates: Vec<BrokerId> =
            self.available.iter().filter(|broker| !excluded.contains(*broker)).cloned().collect();
        let mut removals = Vec::new();
        self.with_request(bundle, |request| {
            for filter in self.filters {
                // The filter's error leaves the candidates as they were, which is what passing it over means.
                let _ = apply_noting(filter.as_ref(), request, &mut candidates, &mut removals);
            }
        });
        let in_turn = self.settings.load_balancer_shedding_excluded_namespaces.contains(bundle.namespace());
        let selection = if in_turn {
            let broker = turns.next(&candidates);
            Selection { best: broker.iter().cloned().collect(), broker, scores: Vec::new() }
        } else {
            select_least_usage(&candidates, loads, self.settings, rng)
        };
        (selection, removals)
    }

    fn with_request<T>(&self, bundle: &BundleName, decide: impl FnOnce(&FilterRequest<'_>) -> T) -> T {
        let group_counts = count_bundles(bundle, self.anti_affinity, self.owners);
        decide(&FilterRequest {
            bundle,
            non_persistent: self.non_persistent.contains(bundle),
            cluster: self.cluster,
            isolation: self.isolation,
            group_counts: group_counts.as_ref(),
            domains: self.settings.failure_domains_enabled.then_some(self.domains),
            namespace_bundles: &BTreeMap::new(),
            load_manager_class: self.load_manager_class,
            settings: self.settings,
        })
    }
}

/// Bundles of namespaces with isolation or anti-affinity policies stay, unless
/// `loadBalancerSheddingBundlesWithPoliciesEnabled`, and every filter has to leave the destination in.
impl TransferRules for ClusterPolicies<'_> {
    fn is_owner(&self, bundle: &BundleName, broker: &BrokerId) -> bool {
        self.owners.get(bundle) == Some(broker)
    }

    fn may_transfer(&self, bundle: &BundleName, from: &BrokerId, to: &BrokerId) -> Result<(), BundleRule> {
        if !self.settings.load_balancer_shedding_bundles_with_policies_enabled {
            let namespace = bundle.namespace();
            if self.isolation.of(namespace).is_some() {
                return Err(BundleRule::IsolationPolicy);
            }
            if self.anti_affinity.group(namespace).is_some() {
                return Err(BundleRule::AntiAffinity);
            }
        }
        let mut candidates = self.available.to_vec();
        let failed = self.with_request(bundle, |request| {
            self.filters.iter().any(|filter| filter.apply(request, &mut candidates).is_err())
        });
        let allowed = to != from && candidates.contains(to);
        if failed || !allowed { Err(BundleRule::NoDestination) } else { Ok(()) }
    }
}
