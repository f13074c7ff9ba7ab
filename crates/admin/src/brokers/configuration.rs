//! Settings: reading them, and changing the dynamic ones so that the change outlives the broker.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use plerion_broker::Handle;

use crate::document::Document;
use crate::permitted::{Cluster, Permitted};
use crate::refusal::Refusal;

/// Where changes are kept.
const PATH: &str = "/admin/configuration";

type Changes = BTreeMap<String, String>;

/// Why changed settings were not taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings changed at run time cannot be read: {0}")]
pub struct RestoreError(Refusal);

impl RestoreError {
    /// Whether the same call may succeed later: the metadata store did not answer.
    pub fn is_retryable(&self) -> bool {
        self.0.status == StatusCode::SERVICE_UNAVAILABLE
    }
}

/// Makes the broker follow the settings that were changed while it ran before. Those that it does not know, or no
/// longer takes, are logged and left out. To be called once the broker has started and before it is used.
///
/// # Errors
/// When they cannot be read.
pub async fn restore(broker: &Handle) -> Result<(), RestoreError> {
    let changes: Option<Changes> = Document::new(broker.metadata(), PATH).read().await.map_err(RestoreError)?;
    for (name, value) in changes.unwrap_or_default() {
        if let Err(problems) = broker.settings().set(&name, &value) {
            tracing::warn!(name, value, %problems, "setting changed at run time is not followed");
        }
    }
    broker.settings_changed();
    Ok(())
}

/// The names of the settings that can be changed.
pub(super) async fn dynamic_names(_at: Permitted<Cluster>) -> Json<Vec<&'static str>> {
    Json(plerion_config::keys().filter(|key| key.dynamic).map(|key| key.name).collect())
}

/// The settings that were changed.
pub(super) async fn dynamic_values(at: Permitted<Cluster>) -> Json<BTreeMap<&'static str, String>> {
    Json(at.broker.settings().overrides())
}

/// All settings, as they hold now.
pub(super) async fn runtime(at: Permitted<Cluster>) -> Json<BTreeMap<&'static str, String>> {
    let settings = at.broker.settings().current();
    Json(settings.values().map(|(name, value)| (name, value.to_owned())).collect())
}

pub(super) async fn set(at: Permitted<Cluster>) -> Result<StatusCode, Refusal> {
    let (name, value) = (at.params.get("name"), at.params.get("value"));
    at.broker.settings().set(name, value).map_err(|problems| Refusal::invalid(problems.to_string()))?;
    at.broker.settings_changed();
    let keep = |changes: &mut Changes| drop(changes.insert(name.to_owned(), value.to_owned()));
    Document::new(at.broker.metadata(), PATH).update(keep).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn reset(at: Permitted<Cluster>) -> Result<StatusCode, Refusal> {
    let name = at.params.get("name");
    at.broker.settings().reset(name).map_err(|problems| Refusal::invalid(problems.to_string()))?;
    at.broker.settings_changed();
    let forget = |changes: &mut Changes| drop(changes.remove(name));
    Document::new(at.broker.metadata(), PATH).update(forget).await?;
    Ok(StatusCode::NO_CONTENT)
}
