//! `/lookup/v2`: finding the broker of a topic over HTTP.

use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

use crate::app::App;
use crate::permitted::{Permitted, Place};
use crate::query::Parameters;
use crate::refusal::Refusal;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/topic/{domain}/{tenant}/{namespace}/{topic}", get(locate))
        .route("/topic/{domain}/{tenant}/{namespace}/{topic}/bundle", get(bundle))
}

/// Where a topic is served. Some clients need the keys of addresses that there are none of, others must not find
/// `brokerUrl` where only TLS is spoken.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    broker_url: Option<String>,
    broker_url_tls: String,
    /// What older clients call the same.
    broker_url_ssl: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_url: Option<String>,
    http_url_tls: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    native_url: Option<String>,
}

async fn locate(at: Permitted<Place>, query: Parameters) -> Result<Json<Found>, Refusal> {
    let found = at.broker.locate(&at.target.0, query.get("listenerName")).await?;
    let tls = found.broker_tls.unwrap_or_default();
    Ok(Json(Found {
        native_url: found.broker.clone(),
        broker_url: found.broker,
        broker_url_tls: tls.clone(),
        broker_url_ssl: tls,
        http_url: found.web,
        http_url_tls: found.web_tls.unwrap_or_default(),
    }))
}

/// The bundle a topic is in, as plain text.
async fn bundle(at: Permitted<Place>) -> Result<String, Refusal> {
    Ok(at.broker.bundle(&at.target.0).await?.range.to_string())
}
