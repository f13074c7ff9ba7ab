//! Free text that a topic carries. A partitioned topic has its own, in its metadata.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plerion_resources::PartitionedTopic;

use super::{absent, partition_count, require_single};
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Permitted, Topic};
use crate::query::Parameters;
use crate::refusal::Refusal;

type Properties = BTreeMap<String, String>;

async fn stored(at: &Permitted<Topic>) -> Result<Properties, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    if let Some(partitioned) = broker.resources().topics().partitioned(name).await? {
        return Ok(partitioned.properties);
    }
    require_single(broker, name).await?;
    Ok(broker.topic_properties(name).await?)
}

/// Changes the properties. Two who change those of a topic at once may undo each other.
async fn change(at: &Permitted<Topic>, mut change: impl FnMut(&mut Properties)) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    if partition_count(broker, name).await?.is_some() {
        let change = |partitioned: &mut PartitionedTopic| {
            change(&mut partitioned.properties);
            Ok(())
        };
        let changed = broker.resources().topics().update_partitioned(name, change).await;
        changed.map_err(|error| match Refusal::from(error) {
            refusal if refusal.status == StatusCode::NOT_FOUND => absent(name),
            refusal => refusal,
        })?;
        return DONE;
    }
    let mut properties = stored(at).await?;
    change(&mut properties);
    broker.set_topic_properties(name, properties).await?;
    DONE
}

pub(super) async fn read(at: Permitted<Topic>) -> Result<Response, Refusal> {
    Ok(Json(stored(&at).await?).into_response())
}

/// Adds to what is there.
pub(super) async fn add(at: Permitted<Topic>, Body(given): Body<Option<Properties>>) -> Done {
    let given = given.unwrap_or_default();
    change(&at, |properties| properties.extend(given.clone())).await
}

/// Removes the one called `?key=`.
pub(super) async fn remove(at: Permitted<Topic>, query: Parameters) -> Done {
    let key = query.get("key").ok_or_else(|| Refusal::invalid("The key of the property to remove is missing"))?;
    change(&at, |properties| drop(properties.remove(key))).await
}
