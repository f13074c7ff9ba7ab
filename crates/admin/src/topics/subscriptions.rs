//! Subscriptions of a topic.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use plerion_resources::names::subscription;
use plerion_subscription::Position;
use plerion_topic::Start;
use serde_json::Value;

use super::{combined, for_each, partition_count, parts, position};
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Permitted, Topic};
use crate::query::Parameters;
use crate::refusal::Refusal;

pub(super) async fn list(at: Permitted<Topic>) -> Result<Json<BTreeSet<String>>, Refusal> {
    let broker = &at.broker;
    let parts = parts(broker, &at.target.0).await?;
    let mut names = BTreeSet::new();
    for found in for_each(&parts, |part| async move { broker.subscriptions(&part).await }).await {
        match found {
            Ok(found) => names.extend(found),
            Err(failure) if failure.is_absence() && parts.len() > 1 => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Ok(Json(names))
}

/// Makes a durable subscription that begins at the message in the body, or at the end. A topic that is not there is
/// made, if topics come into being by being used.
pub(super) async fn create(at: Permitted<Topic>, Body(body): Body<Value>) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    let wanted = at.params.get("subscription");
    subscription::check(wanted)?;
    if !name.is_persistent() {
        return Err(Refusal::not_allowed("Subscriptions of a non-persistent topic are made by its consumers"));
    }
    let properties = body.get("properties").cloned().unwrap_or(Value::Null);
    let properties: Option<BTreeMap<String, String>> = serde_json::from_value(properties)
        .map_err(|error| Refusal::malformed(format!("Invalid subscription properties: {error}")))?;
    let properties = properties.unwrap_or_default();
    let start = match position::read(body)? {
        None | Some((Position::LATEST, _)) => Start::Latest,
        Some((Position::EARLIEST, _)) => Start::Earliest,
        Some((position, _)) => Start::At(position),
    };
    let parts = match partition_count(broker, name).await? {
        Some(count) => (0..count).map(|index| name.partition(index)).collect(),
        None => vec![name.clone()],
    };
    let properties = &properties;
    let made =
        for_each(
            &parts,
            |part| async move { broker.create_subscription(&part, wanted, start, properties.clone()).await },
        );
    for outcome in made.await {
        outcome.map_err(|failure| {
            Refusal::from(failure)
                .or_exists("Subscription already exists for topic")
                .or_not_found(&format!("Topic {name} not found"))
        })?;
    }
    DONE
}

pub(super) async fn delete(at: Permitted<Topic>, query: Parameters) -> Done {
    let (broker, name, wanted) = (&at.broker, &at.target.0, at.params.get("subscription"));
    let force = query.flag("force");
    let parts = parts(broker, name).await?;
    let deleted = for_each(&parts, |part| async move { broker.delete_subscription(&part, wanted, force).await });
    combined(deleted.await).map_err(|refusal| refusal.or_not_found(&not_found(wanted, name.as_str())))?;
    DONE
}

/// What is said of a subscription that is not there.
pub(super) fn not_found(subscription: &str, topic: &str) -> String {
    format!("Subscription {subscription} not found for topic {topic}")
}

pub(super) async fn properties(at: Permitted<Topic>) -> Result<Json<BTreeMap<String, String>>, Refusal> {
    let (broker, name, wanted) = (&at.broker, &at.target.0, at.params.get("subscription"));
    for part in parts(broker, name).await? {
        match broker.topic_stats(&part).await {
            Ok(mut stats) => {
                if let Some(found) = stats.subscriptions.remove(wanted) {
                    return Ok(Json(found.subscription_properties));
                }
            }
            Err(failure) if failure.is_absence() => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(Refusal::not_found(not_found(wanted, name.as_str())))
}
