//! The policies of a namespace, each a key of its stored policies.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plerion_broker::Handle;
use plerion_resources::Error;
use plerion_resources::names::NamespaceName;
use plerion_resources::policies::Policies;
use serde_json::{Map, Value, json};

use super::{bundles, life};
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Namespace, Permitted};
use crate::policy::{self, Shape, quota};
use crate::query::Parameters;
use crate::refusal::Refusal;

/// A policy: its name in a path, its key in the stored policies, and its values.
struct Policy {
    name: &'static str,
    key: &'static str,
    shape: Shape,
    /// Whether the stored value is a map with one value for each cluster.
    by_cluster: bool,
    /// What is shown where nothing is set.
    unset: Unset,
}

enum Unset {
    /// 200 without a body.
    Empty,
    /// 204.
    NoContent,
    /// This value, as JSON.
    Shown(&'static str),
}

const fn policy(name: &'static str, key: &'static str, shape: Shape) -> Policy {
    Policy { name, key, shape, by_cluster: false, unset: Unset::Empty }
}

impl Policy {
    const fn by_cluster(self) -> Self {
        Self { by_cluster: true, ..self }
    }

    const fn or(self, unset: Unset) -> Self {
        Self { unset, ..self }
    }

    fn find(name: &str) -> Result<&'static Self, Refusal> {
        let found = POLICIES.iter().find(|policy| policy.name == name);
        found.ok_or_else(|| Refusal::not_found(format!("There is no namespace policy called {name}")))
    }
}

/// Of these the broker follows messageTTL, retention, deduplication, autoTopicCreation, autoSubscriptionCreation,
/// encryptionRequired, schemaValidationEnforced, and the limits of producers, consumers, subscriptions and unacknowledged
/// messages; the others are stored.
const POLICIES: &[Policy] = &[
    policy("messageTTL", "message_ttl_in_seconds", Shape::Count),
    policy("retention", "retention_policies", policy::RETENTION),
    policy("deduplication", "deduplicationEnabled", Shape::Flag),
    policy("deduplicationSnapshotInterval", "deduplicationSnapshotIntervalSeconds", Shape::Count),
    policy("persistence", "persistence", policy::PERSISTENCE),
    policy("autoTopicCreation", "autoTopicCreationOverride", policy::AUTO_TOPIC),
    policy("autoSubscriptionCreation", "autoSubscriptionCreationOverride", policy::AUTO_SUBSCRIPTION),
    policy("inactiveTopicPolicies", "inactive_topic_policies", policy::INACTIVE),
    policy("delayedDelivery", "delayed_delivery_policies", policy::ANY_OBJECT),
    policy("encryptionRequired", "encryption_required", Shape::Flag),
    policy("schemaValidationEnforced", "schema_validation_enforced", Shape::Flag),
    policy("isAllowAutoUpdateSchema", "is_allow_auto_update_schema", Shape::Flag).or(Unset::Shown("true")),
    policy("schemaCompatibilityStrategy", "schema_compatibility_strategy", Shape::OneOf(policy::STRATEGIES))
        .or(Unset::Shown("\"UNDEFINED\"")),
    policy(
        "schemaAutoUpdateCompatibilityStrategy",
        "schema_auto_update_compatibility_strategy",
        Shape::OneOf(&[
            "AutoUpdateDisabled",
            "Backward",
            "Forward",
            "Full",
            "AlwaysCompatible",
            "BackwardTransitive",
            "ForwardTransitive",
            "FullTransitive",
        ]),
    )
    .or(Unset::NoContent),
    policy("dispatchRate", "topicDispatchRate", policy::DISPATCH_RATE).by_cluster(),
    policy("subscriptionDispatchRate", "subscriptionDispatchRate", policy::DISPATCH_RATE).by_cluster(),
    policy("replicatorDispatchRate", "replicatorDispatchRate", policy::DISPATCH_RATE).by_cluster(),
    policy("publishRate", "publishMaxMessageRate", policy::PUBLISH_RATE).by_cluster(),
    policy("subscribeRate", "clusterSubscribeRate", policy::SUBSCRIBE_RATE).by_cluster(),
    policy("maxProducersPerTopic", "max_producers_per_topic", Shape::Count),
    policy("maxConsumersPerTopic", "max_consumers_per_topic", Shape::Count),
    policy("maxConsumersPerSubscription", "max_consumers_per_subscription", Shape::Count),
    policy("maxSubscriptionsPerTopic", "max_subscriptions_per_topic", Shape::Count),
    policy("maxTopicsPerNamespace", "max_topics_per_namespace", Shape::Count).or(Unset::Shown("0")),
    policy("maxUnackedMessagesPerConsumer", "max_unacked_messages_per_consumer", Shape::Count),
    policy("maxUnackedMessagesPerSubscription", "max_unacked_messages_per_subscription", Shape::Count),
    policy("subscriptionExpirationTime", "subscription_expiration_time_minutes", Shape::Count),
    policy("compactionThreshold", "compaction_threshold", Shape::Count),
    policy("offloadThreshold", "offload_threshold", Shape::Integer).or(Unset::Shown("-1")),
    policy("offloadThresholdInSeconds", "offload_threshold_in_seconds", Shape::Integer).or(Unset::Shown("-1")),
    policy("offloadDeletionLagMs", "offload_deletion_lag_ms", Shape::Integer),
    policy("offloadPolicies", "offload_policies", policy::ANY_OBJECT),
    policy("subscriptionAuthMode", "subscription_auth_mode", Shape::OneOf(&["None", "Prefix"]))
        .or(Unset::Shown("\"None\"")),
    policy("subscriptionTypesEnabled", "subscription_types_enabled", Shape::SomeOf(policy::SUBSCRIPTION_TYPES))
        .or(Unset::Shown("[]")),
    policy("allowedClusters", "allowed_clusters", Shape::Texts).or(Unset::Shown("[]")),
    policy("resourcegroup", "resource_group_name", Shape::Text),
    policy("entryFilters", "entryFilters", policy::ANY_OBJECT),
    policy("dispatcherPauseOnAckStatePersistent", "dispatcherPauseOnAckStatePersistentEnabled", Shape::Flag)
        .or(Unset::Shown("false")),
];

pub(super) async fn read(at: Permitted<Namespace>) -> Result<Response, Refusal> {
    let policy = Policy::find(at.params.get("policy"))?;
    let stored = as_json(&life::policies(&at.broker, &at.target.0).await?)?;
    let value = stored.get(policy.key).filter(|value| !value.is_null());
    let cluster = &at.broker.settings().current().cluster.name;
    let value = if policy.by_cluster { value.and_then(|value| value.get(cluster)) } else { value };
    Ok(match (value, &policy.unset) {
        (Some(value), _) => Json(value).into_response(),
        (None, Unset::Empty) => StatusCode::OK.into_response(),
        (None, Unset::NoContent) => StatusCode::NO_CONTENT.into_response(),
        (None, Unset::Shown(json)) => ([("content-type", "application/json")], *json).into_response(),
    })
}

pub(super) async fn set(at: Permitted<Namespace>, Body(value): Body<Value>) -> Done {
    let policy = Policy::find(at.params.get("policy"))?;
    let value = policy.shape.check(policy.name, value)?;
    store(&at.broker, &at.target.0, policy, value).await
}

/// Unsets a policy. Deleting a bundle has a path of the same form.
pub(super) async fn unset(at: Permitted<Namespace>) -> Done {
    let name = at.params.get("policy");
    if bundles::is_range(name) {
        return bundles::delete(&at).await;
    }
    store(&at.broker, &at.target.0, Policy::find(name)?, Value::Null).await
}

async fn store(broker: &Handle, namespace: &NamespaceName, policy: &Policy, value: Value) -> Done {
    let cluster = broker.settings().current().cluster.name.clone();
    change(broker, namespace, |policies| {
        if policy.by_cluster {
            let rates = policies.entry(policy.key).or_insert_with(|| json!({}));
            if let Some(rates) = rates.as_object_mut() {
                put(rates, &cluster, value.clone());
            }
        } else {
            put(policies, policy.key, value.clone());
        }
    })
    .await?;
    DONE
}

pub(super) async fn quotas(at: Permitted<Namespace>) -> Result<Json<Value>, Refusal> {
    let stored = as_json(&life::policies(&at.broker, &at.target.0).await?)?;
    Ok(Json(quota::shown(stored.get("backlog_quota_map"))))
}

pub(super) async fn set_quota(at: Permitted<Namespace>, query: Parameters, Body(given): Body<Value>) -> Done {
    // A quota of null unsets it, as some clients do.
    let value = if given.is_null() { Value::Null } else { quota::normalized(&given)? };
    store_quota(&at, &query, value).await
}

pub(super) async fn unset_quota(at: Permitted<Namespace>, query: Parameters) -> Done {
    store_quota(&at, &query, Value::Null).await
}

async fn store_quota(at: &Permitted<Namespace>, query: &Parameters, value: Value) -> Done {
    let kind = quota::kind(query)?;
    change(&at.broker, &at.target.0, |policies| {
        let quotas = policies.entry("backlog_quota_map").or_insert_with(|| json!({}));
        if let Some(quotas) = quotas.as_object_mut() {
            put(quotas, kind, value.clone());
        }
    })
    .await?;
    DONE
}

/// Sets a key, or removes it for `null`.
fn put(map: &mut Map<String, Value>, key: &str, value: Value) {
    if value.is_null() {
        map.remove(key);
    } else {
        map.insert(key.to_owned(), value);
    }
}

fn as_json(policies: &Policies) -> Result<Map<String, Value>, Refusal> {
    match serde_json::to_value(policies) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "The stored policies cannot be shown")),
    }
}

/// Changes stored policies by their keys. What the change makes of them must still be policies.
async fn change(
    broker: &Handle,
    namespace: &NamespaceName,
    mut change: impl FnMut(&mut Map<String, Value>),
) -> Result<(), Refusal> {
    let update = |policies: &mut Policies| {
        let invalid = |error: serde_json::Error| Error::Invalid { why: error.to_string() };
        let mut value = serde_json::to_value(&*policies).map_err(invalid)?;
        if let Some(map) = value.as_object_mut() {
            change(map);
        }
        *policies = serde_json::from_value(value).map_err(invalid)?;
        Ok(())
    };
    life::update(broker, namespace, update).await
}
