//! `/admin/v2/schemas`: the schemas of topics, the same for all partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Json, Router};
use plerion_resources::schemas::{Schema, SchemaType, StoredSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::App;
use crate::body::Body;
use crate::permitted::{Permitted, Schemas};
use crate::refusal::Refusal;

mod key_value;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/{tenant}/{namespace}/{topic}/schema", get(latest).post(add).delete(delete))
        .route("/{tenant}/{namespace}/{topic}/schema/{version}", get(one))
        .route("/{tenant}/{namespace}/{topic}/schemas", get(all))
        .route("/{tenant}/{namespace}/{topic}/version", post(version))
        .route("/{tenant}/{namespace}/{topic}/compatibility", post(compatibility))
}

/// A schema as it is posted.
#[derive(Deserialize)]
struct Posted {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    schema: Option<String>,
    #[serde(default)]
    properties: Option<BTreeMap<String, String>>,
}

/// A schema as it is shown.
#[derive(Serialize)]
pub(super) struct Shown {
    version: u64,
    r#type: &'static str,
    timestamp: u64,
    data: String,
    properties: BTreeMap<String, String>,
}

impl Posted {
    fn schema(self, now_ms: u64) -> Result<Schema, Refusal> {
        // The absence of a schema has two names.
        let name = if self.kind == "BYTES" { "NONE" } else { &self.kind };
        let schema_type = SchemaType::from_name(name).ok_or_else(|| {
            Refusal::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, format!("There is no schema type {}", self.kind))
        })?;
        let text = self.schema.unwrap_or_default();
        let data = match schema_type {
            SchemaType::KeyValue => key_value::from_text(&text).map_err(Refusal::malformed)?,
            _ => text.into(),
        };
        let properties = self.properties.unwrap_or_default();
        Ok(Schema { schema_type, data, properties, user: String::new(), timestamp_ms: now_ms })
    }
}

fn shown(stored: StoredSchema) -> Option<Shown> {
    let schema = stored.schema?;
    let data = match schema.schema_type {
        SchemaType::KeyValue => key_value::to_text(&schema.data),
        _ => None,
    };
    Some(Shown {
        version: stored.version,
        r#type: schema.schema_type.name(),
        timestamp: schema.timestamp_ms,
        data: data.unwrap_or_else(|| String::from_utf8_lossy(&schema.data).into_owned()),
        properties: schema.properties,
    })
}

fn found(stored: Option<StoredSchema>) -> Result<Json<Shown>, Refusal> {
    stored.and_then(shown).map(Json).ok_or_else(|| Refusal::not_found("Schema not found"))
}

async fn latest(at: Permitted<Schemas>) -> Result<Json<Shown>, Refusal> {
    found(at.broker.resources().schemas().latest(&at.target.0).await?)
}

async fn one(at: Permitted<Schemas>) -> Result<Json<Shown>, Refusal> {
    let text = at.params.get("version");
    let version =
        text.parse().map_err(|_| Refusal::malformed(format!("'{text}' is no version: it must be a number")))?;
    found(at.broker.resources().schemas().get(&at.target.0, version).await?)
}

async fn all(at: Permitted<Schemas>) -> Result<Json<Value>, Refusal> {
    let all = at.broker.resources().schemas().list(&at.target.0).await?;
    let all: Vec<_> = all.into_iter().filter_map(shown).collect();
    if all.is_empty() {
        return Err(Refusal::not_found("Schema not found"));
    }
    Ok(Json(json!({ "getSchemaResponses": all })))
}

/// Registers a schema by the rules that hold for those of producers.
async fn add(at: Permitted<Schemas>, Body(posted): Body<Posted>) -> Result<Json<Value>, Refusal> {
    let schema = posted.schema(at.broker.clock().wall_ms())?;
    if !at.broker.resources().namespaces().exists(at.target.0.namespace()).await? {
        return Err(Refusal::not_found("Namespace not found"));
    }
    let version = at.broker.register_schema(&at.target.0, schema).await?;
    Ok(Json(json!({ "version": { "version": version } })))
}

/// Deletes the schemas: none counts any more, though messages that were written with one can still be read. The
/// deletion takes a version number itself; -1 if there was nothing to delete.
async fn delete(at: Permitted<Schemas>) -> Result<Json<Value>, Refusal> {
    let deletion = at.broker.resources().schemas().delete(&at.target.0).await?;
    Ok(Json(version_or_none(deletion)))
}

/// The version a schema has; -1 if it is none of the topic's.
async fn version(at: Permitted<Schemas>, Body(posted): Body<Posted>) -> Result<Json<Value>, Refusal> {
    let schema = posted.schema(0)?;
    let found = at.broker.resources().schemas().find(&at.target.0, &schema).await?;
    Ok(Json(version_or_none(found)))
}

/// A version as it is answered; -1 for none.
fn version_or_none(version: Option<u64>) -> Value {
    json!({ "version": version.and_then(|version| i64::try_from(version).ok()).unwrap_or(-1) })
}

/// Whether a schema could be registered.
async fn compatibility(at: Permitted<Schemas>, Body(posted): Body<Posted>) -> Result<Json<Value>, Refusal> {
    let schema = posted.schema(0)?;
    let latest = at.broker.resources().schemas().latest(&at.target.0).await?;
    let latest = latest.and_then(|stored| stored.schema);
    let compatible = latest.is_none_or(|latest| latest.schema_type == schema.schema_type);
    let policies = at.broker.resources().namespaces().policies(at.target.0.namespace()).await?;
    let settings = at.broker.settings().current();
    let strategy = policies.schema_compatibility_strategy.as_deref().filter(|strategy| *strategy != "UNDEFINED");
    let strategy = strategy.or_else(|| settings.value("schemaCompatibilityStrategy")).unwrap_or("FULL");
    Ok(Json(json!({ "compatibility": compatible, "schemaCompatibilityStrategy": strategy })))
}
