//! What is set for a namespace, under the key names of Pulsar's admin interface.

mod limits;
mod local;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use limits::{
    AutoSubscriptionCreation, AutoTopicCreation, BacklogQuota, DispatchRate, InactiveTopicPolicies, Persistence,
    PublishRate, Retention, SubscribeRate,
};
pub use local::LocalPolicies;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::BundlesData;
use crate::json::null_is_default;

/// A namespace's policies. What is not set follows the broker's configuration; keys that are not named here are kept as
/// they are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Policies {
    /// Who may produce and consume.
    #[serde(deserialize_with = "null_is_default")]
    pub auth_policies: AuthPolicies,
    /// Clusters the namespace is replicated to, the local one included.
    #[serde(deserialize_with = "null_is_default")]
    pub replication_clusters: Vec<String>,
    /// How the namespace was cut into bundles when it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundles: Option<BundlesData>,
    /// Limits of unconsumed messages by type: `destination_storage`, `message_age`.
    #[serde(deserialize_with = "null_is_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub backlog_quota_map: BTreeMap<String, BacklogQuota>,
    /// Dispatch rates of a topic by cluster.
    #[serde(
        deserialize_with = "null_is_default",
        rename = "topicDispatchRate",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub topic_dispatch_rate: BTreeMap<String, DispatchRate>,
    /// Dispatch rates of a subscription by cluster.
    #[serde(
        deserialize_with = "null_is_default",
        rename = "subscriptionDispatchRate",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub subscription_dispatch_rate: BTreeMap<String, DispatchRate>,
    /// Dispatch rates of a replicator by cluster.
    #[serde(
        deserialize_with = "null_is_default",
        rename = "replicatorDispatchRate",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub replicator_dispatch_rate: BTreeMap<String, DispatchRate>,
    /// Publish rates of a topic by cluster.
    #[serde(
        deserialize_with = "null_is_default",
        rename = "publishMaxMessageRate",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub publish_max_message_rate: BTreeMap<String, PublishRate>,
    /// Subscribe rates of a consumer by cluster.
    #[serde(
        deserialize_with = "null_is_default",
        rename = "clusterSubscribeRate",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub cluster_subscribe_rate: BTreeMap<String, SubscribeRate>,
    /// How a topic's log is replicated and flushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistence: Option<Persistence>,
    /// Whether a producer's repeated messages are dropped.
    #[serde(rename = "deduplicationEnabled", skip_serializing_if = "Option::is_none")]
    pub deduplication_enabled: Option<bool>,
    /// Whether and how topics are created by their first use.
    #[serde(rename = "autoTopicCreationOverride", skip_serializing_if = "Option::is_none")]
    pub auto_topic_creation: Option<AutoTopicCreation>,
    /// Whether subscriptions are created by their first use.
    #[serde(rename = "autoSubscriptionCreationOverride", skip_serializing_if = "Option::is_none")]
    pub auto_subscription_creation: Option<AutoSubscriptionCreation>,
    /// Seconds after which a message counts as consumed; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_ttl_in_seconds: Option<i32>,
    /// Minutes after which an unused subscription is deleted; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription_expiration_time_minutes: Option<i32>,
    /// How long consumed messages are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_policies: Option<Retention>,
    /// Set first when the namespace is being deleted, so that nobody creates topics in it.
    #[serde(deserialize_with = "null_is_default")]
    pub deleted: bool,
    /// Whether producers must encrypt.
    #[serde(deserialize_with = "null_is_default")]
    pub encryption_required: bool,
    /// How a subscription's name is authorized: `None` or `Prefix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription_auth_mode: Option<String>,
    /// Most producers of a topic; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_producers_per_topic: Option<i32>,
    /// Most consumers of a topic; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_consumers_per_topic: Option<i32>,
    /// Most consumers of a subscription; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_consumers_per_subscription: Option<i32>,
    /// Most subscriptions of a topic; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_subscriptions_per_topic: Option<i32>,
    /// Most topics of the namespace; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_topics_per_namespace: Option<i32>,
    /// Most unacknowledged messages of a consumer; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unacked_messages_per_consumer: Option<i32>,
    /// Most unacknowledged messages of a subscription; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unacked_messages_per_subscription: Option<i32>,
    /// Bytes of backlog that start a compaction; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction_threshold: Option<i64>,
    /// Bytes after which messages move to long-term storage; -1 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload_threshold: Option<i64>,
    /// Milliseconds for which moved messages stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload_deletion_lag_ms: Option<i64>,
    /// When unused topics are deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactive_topic_policies: Option<InactiveTopicPolicies>,
    /// Which changes of a schema producers may make by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_auto_update_compatibility_strategy: Option<String>,
    /// Which changes of a schema are compatible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_compatibility_strategy: Option<String>,
    /// Whether producers may change a schema by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_allow_auto_update_schema: Option<bool>,
    /// Whether producers without a schema are refused where there is one.
    #[serde(deserialize_with = "null_is_default")]
    pub schema_validation_enforced: bool,
    /// Namespaces of one group are kept on different brokers.
    #[serde(rename = "antiAffinityGroup", skip_serializing_if = "Option::is_none")]
    pub anti_affinity_group: Option<String>,
    /// Free text by key.
    #[serde(deserialize_with = "null_is_default")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Every other key.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Who may do what in a namespace. Actions are `produce`, `consume`, `functions`, `sources`, `sinks`, `packages`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthPolicies {
    /// Actions by role, in all of the namespace.
    #[serde(deserialize_with = "null_is_default")]
    pub namespace_auth: BTreeMap<String, Vec<String>>,
    /// Actions by role, by topic.
    #[serde(deserialize_with = "null_is_default", rename = "destination_auth", alias = "topic_auth")]
    pub topic_auth: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Roles that may use a subscription, by its name.
    #[serde(deserialize_with = "null_is_default", rename = "subscription_auth_roles")]
    pub subscription_auth: BTreeMap<String, Vec<String>>,
    /// Every other key.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
