//! Listing, reading, creating and deleting namespaces.

use axum::Json;
use plerion_broker::{Handle, TopicKind};
use plerion_resources::BundlesData;
use plerion_resources::names::{Domain, NamespaceName};
use plerion_resources::policies::Policies;
use serde_json::{Value, json};

use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{self, Namespace, Permitted, Tenant};
use crate::policy::quota;
use crate::query::Parameters;
use crate::refusal::Refusal;

pub(super) const ABSENT: &str = "Namespace does not exist";

/// The policies of a namespace that is there.
pub(super) async fn policies(broker: &Handle, namespace: &NamespaceName) -> Result<Policies, Refusal> {
    let found = broker.resources().namespaces().policies(namespace).await;
    found.map_err(|error| Refusal::from(error).or_not_found(ABSENT))
}

/// The outcome of a change of a namespace that should be there.
pub(super) fn updated<T>(outcome: plerion_resources::Result<T>) -> Result<(), Refusal> {
    outcome.map(drop).map_err(|error| Refusal::from(error).or_not_found(ABSENT))
}

/// Changes the policies of a namespace; the broker follows them when it returns. `change` may run several times.
pub(super) async fn update(
    broker: &Handle,
    namespace: &NamespaceName,
    change: impl FnMut(&mut Policies) -> plerion_resources::Result<()>,
) -> Result<(), Refusal> {
    updated(broker.resources().namespaces().update(namespace, change).await)?;
    Ok(broker.policies_changed(namespace).await?)
}

pub(super) async fn list(at: Permitted<Tenant>) -> Result<Json<Vec<String>>, Refusal> {
    let tenant = &at.target.0;
    let resources = at.broker.resources();
    if !resources.tenants().exists(tenant).await? {
        return Err(Refusal::not_found("Tenant not found"));
    }
    let names = resources.namespaces().list(tenant).await?;
    Ok(Json(names.into_iter().map(|name| format!("{tenant}/{name}")).collect()))
}

/// All policies, with the keys that clients expect to find even where nothing is set, and the bundles as they are now.
pub(super) async fn read(at: Permitted<Namespace>) -> Result<Json<Value>, Refusal> {
    let policies = policies(&at.broker, &at.target.0).await?;
    let bundles = at.broker.resources().namespaces().bundles(&at.target.0).await?.value;
    let mut shown = json!({
        "auth_policies": {}, "replication_clusters": [], "allowed_clusters": [], "bundles": bundles,
        "backlog_quota_map": {}, "clusterDispatchRate": {}, "topicDispatchRate": {}, "subscriptionDispatchRate": {},
        "replicatorDispatchRate": {}, "clusterSubscribeRate": {}, "publishMaxMessageRate": {},
        "latency_stats_sample_rate": {}, "deleted": false, "encryption_required": false,
        "subscription_auth_mode": "None", "offload_threshold": -1, "offload_threshold_in_seconds": -1,
        "schema_compatibility_strategy": "UNDEFINED", "is_allow_auto_update_schema": true,
        "schema_validation_enforced": false, "subscription_types_enabled": [], "properties": {}, "migrated": false,
    });
    let stored = serde_json::to_value(&policies).map_err(|error| Refusal::malformed(error.to_string()))?;
    if let (Some(shown), Value::Object(stored)) = (shown.as_object_mut(), stored) {
        shown.extend(stored.into_iter().filter(|(key, value)| key != "bundles" && !value.is_null()));
        let quotas = quota::shown(shown.get("backlog_quota_map"));
        shown.insert("backlog_quota_map".to_owned(), quotas);
    }
    Ok(Json(shown))
}

/// Creates a namespace from nothing, from policies, or from bundles; `?bundles=` is their number.
pub(super) async fn create(at: Permitted<Namespace>, query: Parameters, Body(given): Body<Value>) -> Done {
    let (broker, namespace) = (&at.broker, &at.target.0);
    let settings = broker.settings().current();
    let resources = broker.resources();
    let mut policies = read_policies(given)?;
    if let Some(count) = query.get("bundles") {
        let count = count.parse().map_err(|_| Refusal::malformed("bundles must be a number"))?;
        policies.bundles = Some(BundlesData { boundaries: Vec::new(), num_bundles: count });
    }
    if policies.bundles.as_ref().is_none_or(|bundles| bundles.boundaries.is_empty() && bundles.num_bundles == 0) {
        policies.bundles = Some(BundlesData { boundaries: Vec::new(), num_bundles: settings.cluster.default_bundles });
    }
    if policies.replication_clusters.is_empty() {
        policies.replication_clusters = vec![settings.cluster.name.clone()];
    }
    for cluster in &policies.replication_clusters {
        if !resources.clusters().exists(cluster).await? {
            return Err(Refusal::invalid(format!("Invalid cluster id: {cluster}")));
        }
    }
    if let Some(most) = settings.cluster.max_namespaces_per_tenant
        && resources.namespaces().list(namespace.tenant()).await?.len() >= most as usize
        && !resources.namespaces().exists(namespace).await?
    {
        return Err(Refusal::invalid(
            "Exceed the maximum number of namespace in tenant :".to_owned() + namespace.tenant(),
        ));
    }
    let created = resources.namespaces().create(namespace, policies).await;
    created.map_err(|error| {
        Refusal::from(error).or_not_found("Tenant does not exist").or_exists("Namespace already exists")
    })?;
    DONE
}

/// The policies in a body: none, policies themselves, or only bundles.
fn read_policies(mut given: Value) -> Result<Policies, Refusal> {
    if given.is_null() {
        return Ok(Policies::default());
    }
    if given.get("boundaries").is_some() || given.get("numBundles").is_some() {
        let bundles = serde_json::from_value(given).map_err(|error| Refusal::malformed(error.to_string()))?;
        return Ok(Policies { bundles: Some(bundles), ..Policies::default() });
    }
    if let Some(quotas) = given.get_mut("backlog_quota_map").and_then(Value::as_object_mut) {
        for quota in quotas.values_mut() {
            *quota = quota::normalized(quota)?;
        }
    }
    serde_json::from_value(given).map_err(|error| Refusal::malformed(format!("Invalid policies: {error}")))
}

pub(super) async fn delete(at: Permitted<Namespace>, query: Parameters) -> Done {
    let (broker, namespace) = (&at.broker, &at.target.0);
    policies(broker, namespace).await?;
    if query.flag("force") {
        if !broker.settings().current().cluster.force_delete_namespace {
            return Err(Refusal::not_allowed("Broker doesn't allow forced deletion of namespaces"));
        }
        delete_all(broker, namespace).await?;
        return DONE;
    }
    let is_used = async || -> Result<bool, Refusal> {
        let partitioned = broker.resources().topics().list_partitioned(namespace, Domain::Persistent).await?;
        Ok(!partitioned.is_empty() || !broker.topics(namespace, TopicKind::All).await?.is_empty())
    };
    if is_used().await? {
        return Err(Refusal::conflict("Cannot delete non empty namespace"));
    }
    // Nobody makes a topic once it is marked; one that was made before the mark is found by looking again.
    mark_deleted(broker, namespace, true).await?;
    if is_used().await? {
        mark_deleted(broker, namespace, false).await?;
        return Err(Refusal::conflict("Cannot delete non empty namespace"));
    }
    broker.unload_namespace(namespace).await.or_else(absent_is_fine)?;
    forget(broker, namespace).await?;
    DONE
}

/// Marks a namespace; when it returns the broker makes no more topics in it, or makes them again.
async fn mark_deleted(broker: &Handle, namespace: &NamespaceName, deleted: bool) -> Result<(), Refusal> {
    let mark = |policies: &mut Policies| {
        policies.deleted = deleted;
        Ok(())
    };
    update(broker, namespace, mark).await
}

/// Deletes a namespace with all its topics, whoever uses them.
pub(crate) async fn delete_all(broker: &Handle, namespace: &NamespaceName) -> Result<(), Refusal> {
    mark_deleted(broker, namespace, true).await?;
    // The system's own topics are not listed to clients, but go too.
    for topic in broker.resources().topics().list(namespace, Domain::Persistent).await? {
        broker.delete_topic(&topic, true).await.or_else(absent_is_fine)?;
    }
    for name in broker.topics(namespace, TopicKind::NonPersistent).await? {
        broker.delete_topic(&name.parse()?, true).await.or_else(absent_is_fine)?;
    }
    broker.unload_namespace(namespace).await.or_else(absent_is_fine)?;
    forget(broker, namespace).await
}

/// Deletes the rows of a namespace without topics.
async fn forget(broker: &Handle, namespace: &NamespaceName) -> Result<(), Refusal> {
    updated(broker.resources().namespaces().delete(namespace).await)?;
    Ok(broker.policies_changed(namespace).await?)
}

fn absent_is_fine(failure: plerion_broker::Failure) -> Result<(), plerion_broker::Failure> {
    if failure.is_absence() { Ok(()) } else { Err(failure) }
}

/// The full names of the topics, partitions and all. Without a mode those that keep messages.
pub(super) async fn topics(at: Permitted<permitted::Topics>, query: Parameters) -> Result<Json<Vec<String>>, Refusal> {
    let kind = match query.get("mode").map(str::to_ascii_uppercase).as_deref() {
        None | Some("" | "PERSISTENT") => TopicKind::Persistent,
        Some("NON_PERSISTENT") => TopicKind::NonPersistent,
        Some("ALL") => TopicKind::All,
        Some(other) => {
            let reason = format!("mode must be PERSISTENT, NON_PERSISTENT or ALL, not {other}");
            return Err(Refusal::not_found(reason));
        }
    };
    if !at.broker.resources().namespaces().exists(&at.target.0).await? {
        return Err(Refusal::not_found(ABSENT));
    }
    Ok(Json(at.broker.topics(&at.target.0, kind).await?))
}
