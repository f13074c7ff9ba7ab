//! `/admin/v2/clusters/{cluster}/namespaceIsolationPolicies`: which brokers are for which namespaces. They are stored
//! for the load manager; a broker on its own serves every namespace whatever they say.

use std::collections::BTreeMap;

use axum::Json;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::find;
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Cluster, Permitted};
use crate::refusal::Refusal;

/// What a policy says, as far as it is looked at.
#[derive(Deserialize)]
struct Isolation {
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default)]
    primary: Vec<String>,
    #[serde(default)]
    secondary: Vec<String>,
}

/// What the policies say of one broker.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BrokerIsolation {
    broker_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_name: Option<String>,
    is_primary: bool,
    namespace_regex: Vec<String>,
}

async fn policies(at: &Permitted<Cluster>) -> Result<BTreeMap<String, Value>, Refusal> {
    find(at).await?;
    Ok(at.broker.resources().clusters().isolation_policies(at.params.get("cluster")).await?)
}

pub(super) async fn list(at: Permitted<Cluster>) -> Result<Json<BTreeMap<String, Value>>, Refusal> {
    let policies = policies(&at).await?;
    if policies.is_empty() {
        let cluster = at.params.get("cluster");
        return Err(Refusal::not_found(format!("NamespaceIsolationPolicies for cluster {cluster} does not exist")));
    }
    Ok(Json(policies))
}

pub(super) async fn read(at: Permitted<Cluster>) -> Result<Json<Value>, Refusal> {
    let name = at.params.get("policy");
    match policies(&at).await?.remove(name) {
        Some(policy) => Ok(Json(policy)),
        None => Err(Refusal::not_found(format!("NamespaceIsolationPolicy {name} does not exist"))),
    }
}

pub(super) async fn set(at: Permitted<Cluster>, Body(policy): Body<Value>) -> Done {
    find(&at).await?;
    let read = Isolation::deserialize(&policy).map_err(|error| Refusal::malformed(error.to_string()))?;
    if read.namespaces.is_empty() || read.primary.is_empty() {
        return Err(Refusal::malformed("A policy needs namespaces and primary brokers"));
    }
    for pattern in read.namespaces.iter().chain(&read.primary).chain(&read.secondary) {
        Regex::new(pattern).map_err(|error| Refusal::malformed(format!("'{pattern}' is no pattern: {error}")))?;
    }
    let name = at.params.get("policy");
    let change = |policies: &mut BTreeMap<String, Value>| {
        policies.insert(name.to_owned(), policy.clone());
        Ok(())
    };
    at.broker.resources().clusters().update_isolation_policies(at.params.get("cluster"), change).await?;
    DONE
}

pub(super) async fn delete(at: Permitted<Cluster>) -> Done {
    find(&at).await?;
    let name = at.params.get("policy");
    let change = |policies: &mut BTreeMap<String, Value>| {
        policies.remove(name);
        Ok(())
    };
    at.broker.resources().clusters().update_isolation_policies(at.params.get("cluster"), change).await?;
    DONE
}

pub(super) async fn brokers(at: Permitted<Cluster>) -> Result<Json<Vec<BrokerIsolation>>, Refusal> {
    let policies = policies(&at).await?;
    Ok(Json(vec![isolation_of(&at.broker.broker_id(), &policies)]))
}

pub(super) async fn broker(at: Permitted<Cluster>) -> Result<Json<BrokerIsolation>, Refusal> {
    let policies = policies(&at).await?;
    Ok(Json(isolation_of(at.params.get("broker"), &policies)))
}

/// The namespaces of the last policy, by name, that names the broker. Patterns are for the host without its port.
fn isolation_of(broker: &str, policies: &BTreeMap<String, Value>) -> BrokerIsolation {
    let host = broker.rsplit_once(':').map_or(broker, |(host, _)| host);
    let names = |patterns: &[String]| {
        patterns.iter().any(|pattern| {
            Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|it| it.is_match(host) || it.is_match(broker))
        })
    };
    let mut found = BrokerIsolation {
        broker_name: broker.to_owned(),
        policy_name: None,
        is_primary: false,
        namespace_regex: Vec::new(),
    };
    for (name, policy) in policies {
        let Ok(policy) = Isolation::deserialize(policy) else { continue };
        let is_primary = names(&policy.primary);
        if is_primary || names(&policy.secondary) {
            found.policy_name = Some(name.clone());
            found.is_primary = is_primary;
            found.namespace_regex.extend(policy.namespaces);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_broker_is_found_by_host_or_by_host_and_port() {
        let policies = BTreeMap::from([
            ("a".to_owned(), json!({"namespaces": ["t/x.*"], "primary": ["host-1"], "secondary": ["host-2:.*"]})),
            ("b".to_owned(), json!({"namespaces": ["t/y"], "primary": ["other"]})),
        ]);
        let first = isolation_of("host-1:8080", &policies);
        assert_eq!((first.policy_name.as_deref(), first.is_primary), (Some("a"), true));
        assert_eq!(first.namespace_regex, ["t/x.*"]);
        let second = isolation_of("host-2:8080", &policies);
        assert_eq!((second.policy_name.as_deref(), second.is_primary), (Some("a"), false));
        let none = isolation_of("host-10:8080", &policies);
        assert_eq!((none.policy_name, none.is_primary), (None, false));
    }
}
