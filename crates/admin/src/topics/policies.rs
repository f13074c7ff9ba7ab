//! The policies of a topic, stored under their names for it and all its partitions.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plerion_broker::Handle;
use plerion_resources::TopicPolicies;
use plerion_resources::names::TopicName;
use serde_json::{Value, json};

use super::require;
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Permitted, Topic};
use crate::policy::{self, Shape, quota};
use crate::query::Parameters;
use crate::refusal::Refusal;

const QUOTAS: &str = "backlogQuotaMap";

/// A policy: its name, its values, and where `?applied=true` looks when it is not set.
struct Policy {
    name: &'static str,
    shape: Shape,
    /// The key in the namespace's policies.
    namespace: &'static str,
    /// The key of the broker's settings.
    setting: &'static str,
}

const fn policy(name: &'static str, shape: Shape, namespace: &'static str, setting: &'static str) -> Policy {
    Policy { name, shape, namespace, setting }
}

/// Of these the broker follows messageTTL, retention, deduplicationEnabled, autoSubscriptionCreation,
/// schemaValidationEnforced, and the limits of producers, consumers, subscriptions and unacknowledged messages; the others
/// are stored and read back.
const POLICIES: &[Policy] = &[
    policy("messageTTL", Shape::Count, "message_ttl_in_seconds", "ttlDurationDefaultInSeconds"),
    policy("retention", policy::RETENTION, "retention_policies", ""),
    policy("deduplicationEnabled", Shape::Flag, "deduplicationEnabled", "brokerDeduplicationEnabled"),
    policy("deduplicationSnapshotInterval", Shape::Count, "deduplicationSnapshotIntervalSeconds", ""),
    policy("persistence", policy::PERSISTENCE, "persistence", ""),
    policy("maxProducers", Shape::Count, "max_producers_per_topic", "maxProducersPerTopic"),
    policy("maxConsumers", Shape::Count, "max_consumers_per_topic", "maxConsumersPerTopic"),
    policy(
        "maxConsumersPerSubscription",
        Shape::Count,
        "max_consumers_per_subscription",
        "maxConsumersPerSubscription",
    ),
    policy("maxSubscriptionsPerTopic", Shape::Count, "max_subscriptions_per_topic", "maxSubscriptionsPerTopic"),
    policy(
        "maxUnackedMessagesOnConsumer",
        Shape::Count,
        "max_unacked_messages_per_consumer",
        "maxUnackedMessagesPerConsumer",
    ),
    policy(
        "maxUnackedMessagesOnSubscription",
        Shape::Count,
        "max_unacked_messages_per_subscription",
        "maxUnackedMessagesPerSubscription",
    ),
    policy("maxMessageSize", Shape::Count, "", ""),
    policy("delayedDelivery", policy::ANY_OBJECT, "delayed_delivery_policies", ""),
    policy("inactiveTopicPolicies", policy::INACTIVE, "inactive_topic_policies", ""),
    policy("compactionThreshold", Shape::Count, "compaction_threshold", "brokerServiceCompactionThresholdInBytes"),
    policy("dispatchRate", policy::DISPATCH_RATE, "", ""),
    policy("subscriptionDispatchRate", policy::DISPATCH_RATE, "", ""),
    policy("replicatorDispatchRate", policy::DISPATCH_RATE, "", ""),
    policy("publishRate", policy::PUBLISH_RATE, "", ""),
    policy("subscribeRate", policy::SUBSCRIBE_RATE, "", ""),
    policy("replication", Shape::Texts, "replication_clusters", ""),
    policy("autoSubscriptionCreation", policy::AUTO_SUBSCRIPTION, "autoSubscriptionCreationOverride", ""),
    policy("schemaCompatibilityStrategy", Shape::OneOf(policy::STRATEGIES), "schema_compatibility_strategy", ""),
    policy("schemaValidationEnforced", Shape::Flag, "schema_validation_enforced", "isSchemaValidationEnforced"),
    policy("subscriptionTypesEnabled", Shape::SomeOf(policy::SUBSCRIPTION_TYPES), "subscription_types_enabled", ""),
    policy("offloadPolicies", policy::ANY_OBJECT, "offload_policies", ""),
    policy("entryFilters", policy::ANY_OBJECT, "entryFilters", ""),
    policy("dispatcherPauseOnAckStatePersistent", Shape::Flag, "dispatcherPauseOnAckStatePersistentEnabled", ""),
];

/// What is answered for a policy that is not set: Pulsar is not of one mind.
fn not_set(name: &str) -> Response {
    match name {
        "publishRate"
        | "maxSubscriptionsPerTopic"
        | "maxMessageSize"
        | "maxConsumersPerSubscription"
        | "subscriptionTypesEnabled" => StatusCode::NO_CONTENT.into_response(),
        "schemaValidationEnforced" | "dispatcherPauseOnAckStatePersistent" => Json(false).into_response(),
        _ => StatusCode::OK.into_response(),
    }
}

fn find(name: &str) -> Result<&'static Policy, Refusal> {
    let found = POLICIES.iter().find(|policy| policy.name == name);
    found.ok_or_else(|| Refusal::not_found(format!("There is no topic policy called {name}")))
}

/// Makes sure that the topic is there and that topics have policies.
async fn check(broker: &Handle, topic: &TopicName) -> Result<(), Refusal> {
    if !broker.settings().current().topics.topic_policies {
        return Err(Refusal::not_allowed(
            "Topic level policies is disabled, to enable the topic level policy and retry.",
        ));
    }
    require(broker, topic).await
}

pub(super) async fn absent(at: Permitted<Topic>) -> Done {
    Err(Refusal::not_found(format!("There is no such resource of topic {}", at.target.0)))
}

pub(super) async fn read(at: Permitted<Topic>, query: Parameters) -> Result<Response, Refusal> {
    let policy = find(at.params.get("policy"))?;
    let (broker, topic) = (&at.broker, &at.target.0);
    check(broker, topic).await?;
    let set = broker.resources().topics().policies(topic).await?.remove(policy.name);
    let value = match set {
        None if query.flag("applied") => applied(broker, topic, policy).await?,
        set => set,
    };
    Ok(value.map_or_else(|| not_set(policy.name), |value| Json(value).into_response()))
}

/// What holds for a topic that has nothing set: what its namespace says, or the broker's settings.
async fn applied(broker: &Handle, topic: &TopicName, policy: &Policy) -> Result<Option<Value>, Refusal> {
    let policies = broker.resources().namespaces().policies(topic.namespace()).await?;
    let policies = serde_json::to_value(policies).map_err(|error| Refusal::malformed(error.to_string()))?;
    if let Some(value) = policies.get(policy.namespace).filter(|value| !value.is_null()) {
        return Ok(Some(value.clone()));
    }
    let settings = broker.settings().current();
    Ok(settings.value(policy.setting).and_then(|text| serde_json::from_str(text).ok()))
}

/// Sets a policy to what is in the body, or in the parameter of its name.
pub(super) async fn set(at: Permitted<Topic>, query: Parameters, Body(body): Body<Value>) -> Done {
    let policy = find(at.params.get("policy"))?;
    let given = match query.get(policy.name) {
        Some(text) if body.is_null() => json!(text),
        _ => body,
    };
    let value = policy.shape.check(policy.name, given)?;
    check(&at.broker, &at.target.0).await?;
    store(&at, |policies| put(policies, policy.name, value.clone())).await
}

pub(super) async fn unset(at: Permitted<Topic>) -> Done {
    let policy = find(at.params.get("policy"))?;
    check(&at.broker, &at.target.0).await?;
    store(&at, |policies| put(policies, policy.name, Value::Null)).await
}

pub(super) async fn quotas(at: Permitted<Topic>, query: Parameters) -> Result<Json<Value>, Refusal> {
    let (broker, topic) = (&at.broker, &at.target.0);
    check(broker, topic).await?;
    let mut quotas = broker.resources().topics().policies(topic).await?.remove(QUOTAS);
    if quotas.is_none() && query.flag("applied") {
        let policies = broker.resources().namespaces().policies(topic.namespace()).await?;
        quotas = serde_json::to_value(policies.backlog_quota_map).ok();
    }
    Ok(Json(quota::shown(quotas.as_ref())))
}

pub(super) async fn set_quota(at: Permitted<Topic>, query: Parameters, Body(given): Body<Value>) -> Done {
    let value = if given.is_null() { Value::Null } else { quota::normalized(&given)? };
    store_quota(&at, &query, value).await
}

pub(super) async fn unset_quota(at: Permitted<Topic>, query: Parameters) -> Done {
    store_quota(&at, &query, Value::Null).await
}

async fn store_quota(at: &Permitted<Topic>, query: &Parameters, value: Value) -> Done {
    let kind = quota::kind(query)?;
    check(&at.broker, &at.target.0).await?;
    store(at, |policies| {
        let quotas = policies.entry(QUOTAS).or_insert_with(|| json!({}));
        if let Some(quotas) = quotas.as_object_mut() {
            put(quotas, kind, value.clone());
        }
    })
    .await
}

fn put(policies: &mut TopicPolicies, key: &str, value: Value) {
    if value.is_null() {
        policies.remove(key);
    } else {
        policies.insert(key.to_owned(), value);
    }
}

async fn store(at: &Permitted<Topic>, mut change: impl FnMut(&mut TopicPolicies)) -> Done {
    let change = |policies: &mut TopicPolicies| {
        change(policies);
        Ok(())
    };
    at.broker.resources().topics().update_policies(&at.target.0, change).await?;
    at.broker.topic_policies_changed(&at.target.0).await?;
    DONE
}
