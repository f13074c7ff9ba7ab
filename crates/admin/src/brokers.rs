//! `/admin/v2/brokers`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::app::App;
use crate::permitted::{Cluster, Permitted};
use crate::refusal::Refusal;

mod configuration;
mod health;

pub use configuration::{RestoreError, restore as restore_configuration};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(list))
        .route("/{cluster}", get(list))
        .route("/leaderBroker", get(leader))
        .route("/health", get(health::check))
        .route("/ready", get(ready))
        .route("/version", get(version))
        .route("/internal-configuration", get(internal_configuration))
        .route("/backlog-quota-check", get(backlog_quota_check))
        .route("/configuration", get(configuration::dynamic_names))
        .route("/configuration/values", get(configuration::dynamic_values))
        .route("/configuration/runtime", get(configuration::runtime))
        .route("/configuration/{name}", axum::routing::delete(configuration::reset))
        .route("/configuration/{name}/{value}", post(configuration::set))
        .route("/{cluster}/{broker}/ownedNamespaces", get(owned))
}

/// The brokers: this one. A cluster that is not this broker's has none that it knows of.
async fn list(at: Permitted<Cluster>) -> Result<Json<Vec<String>>, Refusal> {
    let cluster = at.params.get("cluster");
    if !cluster.is_empty() && *cluster != at.broker.settings().current().cluster.name {
        return Err(Refusal::not_found(format!("Cluster {cluster} does not exist.")));
    }
    Ok(Json(vec![at.broker.broker_id()]))
}

async fn leader(at: Permitted<Cluster>) -> Json<Value> {
    let url = at.broker.addresses().web.unwrap_or_default();
    Json(json!({ "serviceUrl": url, "brokerId": at.broker.broker_id() }))
}

/// Whether new clients should come. Nobody needs a permission to ask.
async fn ready(State(app): State<Arc<App>>) -> Response {
    if app.options.ready.get() {
        "ok".into_response()
    } else {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "The broker is stopping").into_response()
    }
}

/// The version of Pulsar whose behaviour this is, which tools look at, and of the broker.
async fn version(_at: Permitted<Cluster>) -> &'static str {
    concat!("4.0.7-plerion-", env!("CARGO_PKG_VERSION"))
}

async fn internal_configuration(at: Permitted<Cluster>) -> Json<Value> {
    let settings = at.broker.settings().current();
    let store = settings.value("metadataStoreUrl").filter(|url| !url.is_empty()).unwrap_or("embedded");
    Json(json!({
        "zookeeperServers": store, "configurationStoreServers": store, "metadataStoreUrl": store,
        "configurationMetadataStoreUrl": store, "ledgersRootPath": "", "stateStorageServiceUrl": null,
    }))
}

async fn backlog_quota_check(_at: Permitted<Cluster>) -> Refusal {
    Refusal::unsupported("Checking backlog quotas on demand")
}

/// The bundles that the broker serves: those of every namespace, as it is the only one.
async fn owned(at: Permitted<Cluster>) -> Result<Json<BTreeMap<String, Value>>, Refusal> {
    if at.params.get("broker") != at.broker.broker_id() {
        return Err(Refusal::not_found(format!("There is no broker {}", at.params.get("broker"))));
    }
    let mut bundles = BTreeMap::new();
    for (name, _) in at.broker.all_topic_stats().await? {
        let bundle = at.broker.bundle(&name.parse()?).await?;
        bundles
            .entry(bundle.to_string())
            .or_insert_with(|| json!({ "broker_assignment": "shared", "is_controlled": false, "is_active": true }));
    }
    Ok(Json(bundles))
}
