//! Namespaces that are tied to certain hosts.

use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use super::{BrokerFilter, FilterError, FilterRequest};
use crate::load::NamespaceIsolationData;
use crate::names::BrokerId;

/// The isolation policies of a cluster, in order: the first one that names a namespace controls it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IsolationPolicies {
    policies: Vec<IsolationPolicy>,
}

/// One isolation policy, ready to match.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "(String, NamespaceIsolationData)", into = "(String, NamespaceIsolationData)")]
pub struct IsolationPolicy {
    name: String,
    /// What it was made of.
    data: NamespaceIsolationData,
    namespaces: Vec<Regex>,
    primary: Vec<Regex>,
    secondary: Vec<Regex>,
    min_limit: usize,
}

/// A policy that cannot be used. The policy has to be corrected; a retry is pointless.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsolationError {
    /// A pattern is not a regular expression.
    #[error("isolation policy {policy}: {pattern:?} is not a regular expression: {reason}")]
    Pattern {
        /// The policy.
        policy: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `min_limit` is not a number.
    #[error("isolation policy {policy}: min_limit {value:?} is not a number of brokers")]
    MinLimit {
        /// The policy.
        policy: String,
        /// The value.
        value: String,
    },
}

impl PartialEq for IsolationPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.data == other.data
    }
}

impl TryFrom<(String, NamespaceIsolationData)> for IsolationPolicy {
    type Error = IsolationError;

    fn try_from((name, data): (String, NamespaceIsolationData)) -> Result<Self, IsolationError> {
        Self::new(&name, &data)
    }
}

impl From<IsolationPolicy> for (String, NamespaceIsolationData) {
    fn from(policy: IsolationPolicy) -> Self {
        (policy.name, policy.data)
    }
}

impl IsolationPolicy {
    /// Compiles a stored policy.
    ///
    /// # Errors
    /// [`IsolationError`].
    pub fn new(name: &str, data: &NamespaceIsolationData) -> Result<Self, IsolationError> {
        let compile = |patterns: &[String]| -> Result<Vec<Regex>, IsolationError> {
            patterns.iter().map(|pattern| full_match(name, pattern)).collect()
        };
        let limit = data.auto_failover_policy.parameters.get("min_limit").map_or("0", |value| value.trim());
        let min_limit =
            limit.parse().map_err(|_| IsolationError::MinLimit { policy: name.to_owned(), value: limit.to_owned() })?;
        Ok(Self {
            name: name.to_owned(),
            data: data.clone(),
            namespaces: compile(&data.namespaces)?,
            primary: compile(&data.primary)?,
            secondary: compile(&data.secondary)?,
            min_limit,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether `host` is a preferred host.
    #[must_use]
    pub fn is_primary(&self, host: &str) -> bool {
        matches(&self.primary, host)
    }

    /// Whether `host` is a host to fall back to.
    #[must_use]
    pub fn is_secondary(&self, host: &str) -> bool {
        matches(&self.secondary, host)
    }
}

impl IsolationPolicies {
    /// Policies in the order that decides between them.
    #[must_use]
    pub fn new(policies: Vec<IsolationPolicy>) -> Self {
        Self { policies }
    }

    /// The policy that controls a namespace (`tenant/namespace`).
    #[must_use]
    pub fn of(&self, namespace: &str) -> Option<&IsolationPolicy> {
        self.policies.iter().find(|policy| matches(&policy.namespaces, namespace))
    }

    /// Whether a host is open to namespaces without a policy: no policy prefers it.
    #[must_use]
    pub fn is_shared(&self, host: &str) -> bool {
        !self.policies.iter().any(|policy| policy.is_primary(host))
    }
}

fn full_match(policy: &str, pattern: &str) -> Result<Regex, IsolationError> {
    Regex::new(&format!("^(?:{pattern})$")).map_err(|error| IsolationError::Pattern {
        policy: policy.to_owned(),
        pattern: pattern.to_owned(),
        reason: error.to_string(),
    })
}

fn matches(patterns: &[Regex], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.is_match(text))
}

/// `broker_isolation_policies_filter`: a controlled namespace goes to primary hosts, and to secondary ones while fewer
/// than `min_limit` primaries are left; any other goes to hosts that no policy prefers and that serve its kind of topic.
///
/// Patterns match the host part of a broker's id; a broker whose id has no colon is never a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub struct IsolationFilter;

impl BrokerFilter for IsolationFilter {
    fn name(&self) -> &'static str {
        "broker_isolation_policies_filter"
    }

    fn apply(&self, request: &FilterRequest<'_>, candidates: &mut Vec<BrokerId>) -> Result<(), FilterError> {
        candidates.retain(|broker| broker.contains(':'));
        let Some(policy) = request.isolation.of(request.bundle.namespace()) else {
            candidates.retain(|broker| request.isolation.is_shared(broker.host()) && serves_kind(request, broker));
            return Ok(());
        };
        let primaries = candidates.iter().filter(|broker| policy.is_primary(broker.host())).count();
        let with_secondaries = primaries < policy.min_limit;
        candidates.retain(|broker| {
            policy.is_primary(broker.host()) || (with_secondaries && policy.is_secondary(broker.host()))
        });
        Ok(())
    }
}

fn serves_kind(request: &FilterRequest<'_>, broker: &BrokerId) -> bool {
    match request.cluster.facts(broker) {
        Some(facts) if request.non_persistent => facts.non_persistent,
        Some(facts) => facts.persistent,
        None => true,
    }
}
