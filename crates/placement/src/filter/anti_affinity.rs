//! Namespaces of one group, kept on different brokers and in different failure domains.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{BrokerFilter, FilterError, FilterRequest, keep_least};
use crate::names::{BrokerId, BundleName};

/// Which namespace is in which anti-affinity group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AntiAffinity {
    /// Group by namespace, in lower case.
    groups: BTreeMap<String, String>,
}

impl AntiAffinity {
    /// Collects groups by namespace (`tenant/namespace`). Group names are compared without regard to case; a blank one is
    /// no group.
    pub fn new<N: Into<String>, G: AsRef<str>>(groups: impl IntoIterator<Item = (N, G)>) -> Self {
        let groups = groups
            .into_iter()
            .filter(|(_, group)| !group.as_ref().trim().is_empty())
            .map(|(namespace, group)| (namespace.into(), group.as_ref().to_lowercase()))
            .collect();
        Self { groups }
    }

    /// The group of a namespace.
    #[must_use]
    pub fn group(&self, namespace: &str) -> Option<&str> {
        self.groups.get(namespace).map(String::as_str)
    }
}

/// How many bundles of the group of `bundle` each broker owns (the Extensible manager's count); `None` if it is in no
/// group.
pub fn count_bundles<'a>(
    bundle: &BundleName,
    anti_affinity: &AntiAffinity,
    owned: impl IntoIterator<Item = (&'a BundleName, &'a BrokerId)>,
) -> Option<BTreeMap<BrokerId, u32>> {
    let group = anti_affinity.group(bundle.namespace())?;
    let mut counts = BTreeMap::new();
    for (other, broker) in owned {
        if anti_affinity.group(other.namespace()) == Some(group) {
            *counts.entry(broker.clone()).or_insert(0) += 1;
        }
    }
    Some(counts)
}

/// How many *namespaces* of the group of `bundle` have a bundle on each broker (the Modular manager's count); `None` if
/// it is in no group.
pub fn count_namespaces<'a>(
    bundle: &BundleName,
    anti_affinity: &AntiAffinity,
    owned: impl IntoIterator<Item = (&'a BundleName, &'a BrokerId)>,
) -> Option<BTreeMap<BrokerId, u32>> {
    let group = anti_affinity.group(bundle.namespace())?;
    let mut seen = BTreeSet::new();
    let mut counts = BTreeMap::new();
    for (other, broker) in owned {
        let namespace = other.namespace();
        if anti_affinity.group(namespace) == Some(group) && seen.insert((broker, namespace)) {
            *counts.entry(broker.clone()).or_insert(0) += 1;
        }
    }
    Some(counts)
}

/// Whether a bundle of a group may leave `from`: when that evens the group out over the `candidates`, or cannot make it
/// worse. Without a group (`counts` is `None`) it may.
#[must_use]
pub fn may_unload(counts: Option<&BTreeMap<BrokerId, u32>>, from: &BrokerId, candidates: &[BrokerId]) -> bool {
    let Some(counts) = counts else { return true };
    let count = |broker: &BrokerId| counts.get(broker).copied().unwrap_or(0);
    let Some(least) = candidates.iter().map(count).min() else { return true };
    least == 0 || count(from) > least || candidates.iter().any(|candidate| count(candidate) != least)
}

/// `broker_anti_affinity_group_filter`: keeps the failure domains, then the brokers, that have the least of the group.
#[derive(Clone, Copy, Debug, Default)]
pub struct AntiAffinityFilter;

/// The domain of brokers that are in none.
const DEFAULT_DOMAIN: &str = "default";

impl BrokerFilter for AntiAffinityFilter {
    fn name(&self) -> &'static str {
        "broker_anti_affinity_group_filter"
    }

    fn apply(&self, request: &FilterRequest<'_>, candidates: &mut Vec<BrokerId>) -> Result<(), FilterError> {
        let Some(counts) = request.group_counts else { return Ok(()) };
        if let Some(domains) = request.domains {
            keep_least_domains(candidates, counts, domains);
        }
        keep_least(candidates, counts);
        Ok(())
    }
}

fn keep_least_domains(
    candidates: &mut Vec<BrokerId>,
    counts: &BTreeMap<BrokerId, u32>,
    domains: &BTreeMap<BrokerId, String>,
) {
    let domain = |broker: &BrokerId| domains.get(broker).map_or(DEFAULT_DOMAIN, String::as_str);
    let mut totals: BTreeMap<&str, u32> = BTreeMap::new();
    for broker in candidates.iter() {
        *totals.entry(domain(broker)).or_insert(0) += counts.get(broker).copied().unwrap_or(0);
    }
    if let Some(least) = totals.values().copied().min() {
        candidates.retain(|broker| totals.get(domain(broker)) == Some(&least));
    }
}
