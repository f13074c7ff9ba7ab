//! `/admin/v2/clusters`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use plerion_resources::names::check_entity;
use plerion_resources::{ClusterData, FailureDomain};
use serde_json::{Map, Value};

use crate::app::{App, DONE, Done};
use crate::body::Body;
use crate::permitted::{Cluster, Permitted};
use crate::query::Parameters;
use crate::refusal::Refusal;

mod isolation;

const ABSENT: &str = "Cluster does not exist";

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(list))
        .route("/{cluster}", get(read).put(create).post(update).delete(delete))
        .route("/{cluster}/peers", get(peers).post(set_peers))
        .route("/{cluster}/migrate", get(migration).post(migrate))
        .route("/{cluster}/failureDomains", get(domains))
        .route("/{cluster}/failureDomains/{domain}", get(domain).post(set_domain).delete(delete_domain))
        .route("/{cluster}/namespaceIsolationPolicies", get(isolation::list))
        .route("/{cluster}/namespaceIsolationPolicies/brokers", get(isolation::brokers))
        .route("/{cluster}/namespaceIsolationPolicies/brokers/{broker}", get(isolation::broker))
        .route(
            "/{cluster}/namespaceIsolationPolicies/{policy}",
            post(isolation::set).get(isolation::read).delete(isolation::delete),
        )
}

async fn list(at: Permitted<Cluster>) -> Result<Json<Vec<String>>, Refusal> {
    Ok(Json(at.broker.resources().clusters().list().await?))
}

async fn find(at: &Permitted<Cluster>) -> Result<ClusterData, Refusal> {
    let found = at.broker.resources().clusters().get(at.params.get("cluster")).await;
    found.map_err(|error| Refusal::from(error).or_not_found(ABSENT))
}

/// Changes a cluster that must be there.
async fn change(at: &Permitted<Cluster>, mut change: impl FnMut(&mut ClusterData)) -> Done {
    let change = |stored: &mut ClusterData| {
        change(stored);
        Ok(())
    };
    let updated = at.broker.resources().clusters().update(at.params.get("cluster"), change).await;
    updated.map_err(|error| Refusal::from(error).or_not_found(ABSENT))?;
    DONE
}

async fn read(at: Permitted<Cluster>) -> Result<Json<ClusterData>, Refusal> {
    Ok(Json(find(&at).await?))
}

async fn create(at: Permitted<Cluster>, Body(data): Body<ClusterData>) -> Done {
    let cluster = at.params.get("cluster");
    check_entity(cluster).map_err(|_| Refusal::invalid("Cluster name is not valid"))?;
    let created = at.broker.resources().clusters().create(cluster, &data).await;
    created.map_err(|error| Refusal::from(error).or_exists("Cluster already exists"))?;
    DONE
}

async fn update(at: Permitted<Cluster>, Body(data): Body<ClusterData>) -> Done {
    change(&at, |stored| stored.clone_from(&data)).await
}

async fn delete(at: Permitted<Cluster>) -> Done {
    let cluster = at.params.get("cluster");
    if *cluster == at.broker.settings().current().cluster.name {
        return Err(Refusal::invalid("Cluster not empty: it is the cluster of this broker"));
    }
    let deleted = at.broker.resources().clusters().delete(cluster).await;
    deleted.map_err(|error| Refusal::from(error).or_not_found(ABSENT))?;
    DONE
}

async fn peers(at: Permitted<Cluster>) -> Result<Json<Vec<String>>, Refusal> {
    Ok(Json(find(&at).await?.peer_cluster_names.unwrap_or_default()))
}

async fn set_peers(at: Permitted<Cluster>, Body(peers): Body<Option<Vec<String>>>) -> Done {
    let peers = peers.unwrap_or_default();
    for peer in &peers {
        if peer == at.params.get("cluster") {
            return Err(Refusal::invalid(format!("{peer} itself can't be part of peer-list")));
        }
        if !at.broker.resources().clusters().exists(peer).await? {
            return Err(Refusal::invalid(format!("Peer cluster {peer} does not exist")));
        }
    }
    change(&at, |stored| stored.peer_cluster_names = Some(peers.clone())).await
}

async fn migration(at: Permitted<Cluster>) -> Result<Json<Value>, Refusal> {
    let other = find(&at).await?.other;
    let migrated = other.get("migrated").cloned().unwrap_or(Value::Bool(false));
    let url = other.get("migratedClusterUrl").cloned().unwrap_or(Value::Null);
    Ok(Json(serde_json::json!({ "migrated": migrated, "migratedClusterUrl": url })))
}

/// Stores where the cluster has moved to; connected clients are not sent there.
async fn migrate(
    at: Permitted<Cluster>,
    query: Parameters,
    Body(url): Body<Option<Map<String, Value>>>,
) -> Result<StatusCode, Refusal> {
    let migrated = query.flag("migrated");
    if migrated && !url.as_ref().is_some_and(|url| url.values().any(Value::is_string)) {
        return Err(Refusal::malformed("The URLs of the cluster to migrate to are missing"));
    }
    change(&at, |stored| {
        stored.other.insert("migrated".to_owned(), Value::Bool(migrated));
        stored.other.insert("migratedClusterUrl".to_owned(), url.clone().map_or(Value::Null, Value::Object));
    })
    .await?;
    Ok(StatusCode::OK)
}

async fn domains(at: Permitted<Cluster>) -> Result<Json<BTreeMap<String, FailureDomain>>, Refusal> {
    let (clusters, cluster) = (at.broker.resources().clusters(), at.params.get("cluster"));
    let mut all = BTreeMap::new();
    for name in clusters.failure_domains(cluster).await? {
        let domain = clusters.failure_domain(cluster, &name).await?;
        all.insert(name, domain);
    }
    Ok(Json(all))
}

async fn domain(at: Permitted<Cluster>) -> Result<Json<FailureDomain>, Refusal> {
    let (cluster, domain) = (at.params.get("cluster"), at.params.get("domain"));
    Ok(Json(at.broker.resources().clusters().failure_domain(cluster, domain).await?))
}

/// A broker is in one domain at most.
async fn set_domain(at: Permitted<Cluster>, Body(data): Body<FailureDomain>) -> Done {
    find(&at).await?;
    let (clusters, cluster) = (at.broker.resources().clusters(), at.params.get("cluster"));
    let name = at.params.get("domain");
    for other in clusters.failure_domains(cluster).await?.iter().filter(|other| *other != name) {
        let taken = clusters.failure_domain(cluster, other).await?.brokers;
        if let Some(broker) = data.brokers.iter().find(|broker| taken.contains(broker)) {
            return Err(Refusal::conflict(format!("{broker} already exists in failure domain {other}")));
        }
    }
    clusters.set_failure_domain(cluster, name, &data).await?;
    DONE
}

async fn delete_domain(at: Permitted<Cluster>) -> Done {
    let (cluster, domain) = (at.params.get("cluster"), at.params.get("domain"));
    at.broker.resources().clusters().delete_failure_domain(cluster, domain).await?;
    DONE
}
