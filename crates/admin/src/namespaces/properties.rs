//! Free text that a namespace carries.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plerion_resources::policies::Policies;

use super::life;
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Namespace, Permitted};
use crate::refusal::Refusal;

type Properties = BTreeMap<String, String>;

async fn change(at: &Permitted<Namespace>, mut change: impl FnMut(&mut Properties)) -> Done {
    let update = |policies: &mut Policies| {
        change(&mut policies.properties);
        Ok(())
    };
    life::updated(at.broker.resources().namespaces().update(&at.target.0, update).await)?;
    DONE
}

pub(super) async fn all(at: Permitted<Namespace>) -> Result<Json<Properties>, Refusal> {
    Ok(Json(life::policies(&at.broker, &at.target.0).await?.properties))
}

/// Adds to what is there.
pub(super) async fn add(at: Permitted<Namespace>, Body(given): Body<Option<Properties>>) -> Done {
    let given = given.unwrap_or_default();
    change(&at, |properties| properties.extend(given.clone())).await
}

pub(super) async fn clear(at: Permitted<Namespace>) -> Done {
    change(&at, Properties::clear).await
}

pub(super) async fn one(at: Permitted<Namespace>) -> Result<Response, Refusal> {
    let properties = life::policies(&at.broker, &at.target.0).await?.properties;
    Ok(match properties.get(at.params.get("key")) {
        Some(value) => value.clone().into_response(),
        None => StatusCode::OK.into_response(),
    })
}

pub(super) async fn set(at: Permitted<Namespace>) -> Done {
    let (key, value) = (at.params.get("key"), at.params.get("value"));
    change(&at, |properties| drop(properties.insert(key.to_owned(), value.to_owned()))).await
}

/// Answers what was removed.
pub(super) async fn remove(at: Permitted<Namespace>) -> Result<String, Refusal> {
    let key = at.params.get("key");
    let mut removed = None;
    change(&at, |properties| removed = properties.remove(key)).await?;
    Ok(removed.unwrap_or_default())
}
