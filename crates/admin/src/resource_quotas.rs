//! `/admin/v2/resource-quotas`: what bundles are expected to use. The quotas are stored for the load manager.

use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use plerion_placement::bundle::BundleRange;
use serde::{Deserialize, Serialize};

use crate::app::{App, DONE, Done};
use crate::body::Body;
use crate::document::Document;
use crate::permitted::{Cluster, Namespace, Permitted};
use crate::refusal::Refusal;

const ROOT: &str = "/loadbalance/resource-quota";

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(read_default).post(set_default))
        .route("/{tenant}/{namespace}/{bundle}", get(read).post(set).delete(unset))
}

/// What a bundle may use.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Quota {
    /// Messages in, a second.
    msg_rate_in: f64,
    /// Messages out, a second.
    msg_rate_out: f64,
    /// Bytes in, a second.
    bandwidth_in: f64,
    /// Bytes out, a second.
    bandwidth_out: f64,
    /// Megabytes.
    memory: f64,
    /// Whether the load manager adapts it.
    dynamic: bool,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            msg_rate_in: 40.0,
            msg_rate_out: 120.0,
            bandwidth_in: 100_000.0,
            bandwidth_out: 300_000.0,
            memory: 80.0,
            dynamic: true,
        }
    }
}

impl Quota {
    fn check(&self) -> Result<(), Refusal> {
        let Self { msg_rate_in, msg_rate_out, bandwidth_in, bandwidth_out, memory, .. } = *self;
        let is_valid =
            [msg_rate_in, msg_rate_out, bandwidth_in, bandwidth_out, memory].iter().all(|value| *value > 0.0);
        if is_valid { Ok(()) } else { Err(Refusal::invalid("Every limit of a quota must be more than 0")) }
    }
}

fn default_path() -> String {
    format!("{ROOT}/default")
}

/// The path of a bundle's quota; the bundle must be one of the namespace's.
async fn path(at: &Permitted<Namespace>) -> Result<String, Refusal> {
    let (namespace, text) = (&at.target.0, at.params.get("bundle"));
    let range: BundleRange =
        text.parse().map_err(|error| Refusal::invalid(format!("Invalid bundle range: {error}")))?;
    if !at.broker.bundles(namespace).await?.iter().any(|bundle| bundle.range == range) {
        return Err(Refusal::invalid(format!("{text} is no bundle of {namespace}")));
    }
    Ok(format!("{ROOT}/namespace/{namespace}/{range}"))
}

async fn read_default(at: Permitted<Cluster>) -> Result<Json<Quota>, Refusal> {
    Ok(Json(Document::new(at.broker.metadata(), default_path()).read().await?.unwrap_or_default()))
}

async fn set_default(at: Permitted<Cluster>, Body(quota): Body<Quota>) -> Done {
    quota.check()?;
    Document::new(at.broker.metadata(), default_path()).update(|stored: &mut Quota| stored.clone_from(&quota)).await?;
    DONE
}

async fn read(at: Permitted<Namespace>) -> Result<Json<Quota>, Refusal> {
    let metadata = at.broker.metadata();
    if let Some(quota) = Document::new(metadata, path(&at).await?).read().await? {
        return Ok(Json(quota));
    }
    Ok(Json(Document::new(metadata, default_path()).read().await?.unwrap_or_default()))
}

async fn set(at: Permitted<Namespace>, Body(quota): Body<Quota>) -> Done {
    quota.check()?;
    let path = path(&at).await?;
    Document::new(at.broker.metadata(), path).update(|stored: &mut Quota| stored.clone_from(&quota)).await?;
    DONE
}

async fn unset(at: Permitted<Namespace>) -> Done {
    let path = path(&at).await?;
    Document::new(at.broker.metadata(), path).delete().await?;
    DONE
}
