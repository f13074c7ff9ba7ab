//! Compaction and offloading, neither of which this broker does: saying that it was begun would be a lie.

use axum::Json;
use serde_json::{Value, json};

use super::require;
use crate::app::Done;
use crate::permitted::{Permitted, Topic};
use crate::refusal::Refusal;

/// Compaction never ran.
pub(super) async fn read(at: Permitted<Topic>) -> Result<Json<Value>, Refusal> {
    require(&at.broker, &at.target.0).await?;
    Ok(Json(json!({ "status": "NOT_RUN", "lastError": "" })))
}

pub(super) async fn start(at: Permitted<Topic>) -> Done {
    require(&at.broker, &at.target.0).await?;
    Err(Refusal::unsupported("Compaction"))
}

pub(super) async fn offload(at: Permitted<Topic>) -> Done {
    require(&at.broker, &at.target.0).await?;
    Err(Refusal::unsupported("Offloading"))
}
