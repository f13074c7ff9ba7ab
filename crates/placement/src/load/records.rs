//! The other records of the balancer in the metadata store.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::bundle::Bundles;
use crate::names::BrokerId;

/// The addresses of a broker under one listener name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AdvertisedListener {
    /// Address for clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_service_url: Option<String>,
    /// Address for clients over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_service_url_tls: Option<String>,
    /// Address of the web service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_http_url: Option<String>,
    /// Address of the web service over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_https_url: Option<String>,
}

/// A broker's entry in the registry, `/loadbalance/brokers/<brokerId>` under the Extensible manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BrokerLookupData {
    /// The broker's id; absent in entries of Pulsar up to 4.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_id: Option<String>,
    /// Address of the web service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_service_url: Option<String>,
    /// Address of the web service over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_service_url_tls: Option<String>,
    /// Address for clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulsar_service_url: Option<String>,
    /// Address for clients over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulsar_service_url_tls: Option<String>,
    /// Addresses by listener name.
    pub advertised_listeners: BTreeMap<String, AdvertisedListener>,
    /// Addresses of additional protocols.
    pub protocols: BTreeMap<String, String>,
    /// Whether the broker serves persistent topics.
    pub persistent_topics_enabled: bool,
    /// Whether the broker serves non-persistent topics.
    pub non_persistent_topics_enabled: bool,
    /// Class name of the broker's load manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_manager_class_name: Option<String>,
    /// When the broker started, in milliseconds since 1970.
    pub start_timestamp: i64,
    /// Version of the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_version: Option<String>,
    /// Settings the broker publishes for lookups.
    pub properties: BTreeMap<String, String>,
}

/// The owner of a bundle, `/namespace/<bundle>` under the Modular and Simple managers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespaceEphemeralData {
    /// The owner's id; absent in entries of Pulsar up to 4.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_id: Option<String>,
    /// Address for clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_url: Option<String>,
    /// Address for clients over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_url_tls: Option<String>,
    /// Address of the web service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_url: Option<String>,
    /// Address of the web service over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_url_tls: Option<String>,
    /// Whether the bundle is being unloaded.
    pub disabled: bool,
    /// Addresses by listener name.
    pub advertised_listeners: BTreeMap<String, AdvertisedListener>,
}

/// The elected leader, `/loadbalance/leader` and `/loadbalance/extension/leader`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaderBroker {
    /// The leader's id; absent in entries of old brokers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_id: Option<String>,
    /// Address of the web service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_url: Option<String>,
}

/// The part of a namespace's policies that is local to a cluster, `/admin/local-policies/<namespace>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalPolicies {
    /// The bundles.
    pub bundles: Bundles,
    /// Bookies the namespace should use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bookie_affinity_group: Option<serde_json::Value>,
    /// Group whose namespaces should be on different brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_anti_affinity_group: Option<String>,
    /// Whether the namespace moved to another cluster.
    #[serde(default)]
    pub migrated: bool,
}

/// Brokers that fail together, `/admin/clusters/<cluster>/failureDomain/<domain>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureDomain {
    /// The brokers.
    pub brokers: BTreeSet<BrokerId>,
}

/// Which brokers some namespaces may use: a value of the map at `/admin/clusters/<cluster>/namespaceIsolationPolicies`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamespaceIsolationData {
    /// Regular expressions of namespaces (`tenant/namespace`).
    pub namespaces: Vec<String>,
    /// Regular expressions of preferred hosts.
    pub primary: Vec<String>,
    /// Regular expressions of hosts to fall back to.
    pub secondary: Vec<String>,
    /// When to fall back.
    pub auto_failover_policy: FailoverPolicy,
    /// What to unload when the policy is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unload_scope: Option<String>,
}

/// When secondary brokers join the primary ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailoverPolicy {
    /// Kind of the policy; Pulsar knows `min_available`.
    pub policy_type: String,
    /// Parameters: `min_limit`, the number of primaries below which secondaries join, and `usage_threshold`, which is
    /// stored but decides nothing.
    pub parameters: BTreeMap<String, String>,
}
