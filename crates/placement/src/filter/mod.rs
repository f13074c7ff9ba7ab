//! Filters: which brokers may take a bundle at all.
//!
//! A filter only removes candidates. The Modular and the Extensible manager use the same rules with the differences
//! their users know; each constructor says what they are.

mod anti_affinity;
mod class;
mod even;
mod isolation;
mod topics;
mod version;

pub use anti_affinity::{AntiAffinity, AntiAffinityFilter, count_bundles, count_namespaces, may_unload};
pub use class::ClassFilter;
pub use even::EvenBundlesFilter;
pub use isolation::{IsolationError, IsolationFilter, IsolationPolicies, IsolationPolicy};
pub use topics::MaxTopicsFilter;
pub use version::VersionFilter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// What is known of one broker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BrokerFacts<'a> {
    /// Class name of its load manager.
    pub load_manager_class: Option<&'a str>,
    /// Its version.
    pub version: Option<&'a str>,
    /// Topics it serves.
    pub topics: u64,
    /// Topics of bundles assigned to it that it has not reported.
    pub incoming_topics: u64,
    /// Whether it serves persistent topics.
    pub persistent: bool,
    /// Whether it serves non-persistent topics.
    pub non_persistent: bool,
}

/// What a manager knows of the brokers of its cluster.
pub trait Cluster {
    /// What is known of `broker`; `None` if it has not reported.
    fn facts(&self, broker: &BrokerId) -> Option<BrokerFacts<'_>>;
}

/// What filters decide by.
#[derive(Clone, Copy)]
pub struct FilterRequest<'a> {
    /// The bundle to place.
    pub bundle: &'a BundleName,
    /// Whether the bundle holds non-persistent topics.
    pub non_persistent: bool,
    /// The brokers.
    pub cluster: &'a dyn Cluster,
    /// Which namespaces are tied to which hosts.
    pub isolation: &'a IsolationPolicies,
    /// How much of the bundle's anti-affinity group each broker has; `None` if it is in no group.
    pub group_counts: Option<&'a BTreeMap<BrokerId, u32>>,
    /// The failure domain of brokers that are in one; `None` while domains do not count.
    pub domains: Option<&'a BTreeMap<BrokerId, String>>,
    /// How many bundles of the namespace each broker has.
    pub namespace_bundles: &'a BTreeMap<BrokerId, u32>,
    /// Class name of the manager that decides.
    pub load_manager_class: &'a str,
    /// The settings.
    pub settings: &'a Settings,
}

/// Why a filter cannot decide. The filter is skipped; another attempt makes sense when the broker has reported anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A candidate's version is missing or not three numbers.
    #[error("cannot determine newest broker version: broker {broker} states {version:?}, not a version such as 4.0.7")]
    Version {
        /// The candidate.
        broker: BrokerId,
        /// What it states.
        version: String,
    },
}

/// Removes the brokers that may not take a bundle.
pub trait BrokerFilter: Send + Sync {
    /// The name in explanations and metrics.
    fn name(&self) -> &'static str;

    /// Removes candidates; what is left keeps its order.
    ///
    /// # Errors
    /// [`FilterError`]; the candidates are then as they were.
    fn apply(&self, request: &FilterRequest<'_>, candidates: &mut Vec<BrokerId>) -> Result<(), FilterError>;
}

/// A candidate that a filter removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// The candidate.
    pub broker: BrokerId,
    /// The filter.
    pub filter: String,
}

/// Applies `filter` and notes what it removed.
///
/// # Errors
/// The filter's.
pub fn apply_noting(
    filter: &dyn BrokerFilter,
    request: &FilterRequest<'_>,
    candidates: &mut Vec<BrokerId>,
    removals: &mut Vec<Removal>,
) -> Result<(), FilterError> {
    let before = candidates.clone();
    filter.apply(request, candidates)?;
    let mut left = candidates.iter().peekable();
    for broker in before {
        if left.next_if(|kept| **kept == broker).is_none() {
            removals.push(Removal { broker, filter: filter.name().to_owned() });
        }
    }
    Ok(())
}

/// Keeps the candidates with the least count; a broker without an entry counts 0.
pub(crate) fn keep_least(candidates: &mut Vec<BrokerId>, counts: &BTreeMap<BrokerId, u32>) {
    let count = |broker: &BrokerId| counts.get(broker).copied().unwrap_or(0);
    if let Some(least) = candidates.iter().map(count).min() {
        candidates.retain(|broker| count(broker) == least);
    }
}
