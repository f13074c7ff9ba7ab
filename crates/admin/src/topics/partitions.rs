//! Partitioned topics.

use std::collections::{BTreeMap, BTreeSet};

use axum::{Extension, Json};
use plerion_broker::{Conflict, Failure, Handle};
use plerion_resources::PartitionedTopic;
use plerion_resources::names::{Domain, TopicName};
use plerion_topic::Start;
use serde_json::Value;

use super::{for_each, partition_count, require_single};
use crate::app::{DONE, Done};
use crate::body::{Body, integer};
use crate::permitted::{Permitted, Place, Topic, Topics};
use crate::query::Parameters;
use crate::refusal::Refusal;

/// The full names of the partitioned topics themselves.
pub(super) async fn list(
    at: Permitted<Topics>,
    Extension(domain): Extension<Domain>,
) -> Result<Json<Vec<String>>, Refusal> {
    if !at.broker.resources().namespaces().exists(&at.target.0).await? {
        return Err(Refusal::not_found("Namespace does not exist"));
    }
    let topics = at.broker.resources().topics().list_partitioned(&at.target.0, domain).await?;
    Ok(Json(topics.keys().map(ToString::to_string).collect()))
}

/// How a topic is partitioned: 0 partitions if it is not. With `?checkAllowAutoCreation=true` one that is not there is
/// made if that is how topics come into being.
pub(super) async fn read(at: Permitted<Place>, query: Parameters) -> Result<Json<PartitionedTopic>, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    if let Some(found) = broker.resources().topics().partitioned(name).await? {
        return Ok(Json(found));
    }
    let partitions = broker.partitions(name, query.flag("checkAllowAutoCreation")).await;
    let partitions = partitions.map_err(|failure| match Refusal::from(failure) {
        // The broker says of a missing topic no more than that.
        refusal if refusal.reason.is_empty() => refusal.or_not_found(&format!("Topic {name} not found")),
        refusal => refusal,
    })?;
    Ok(Json(PartitionedTopic { partitions, ..PartitionedTopic::default() }))
}

/// The number in a body, which may be quoted or part of metadata, and the properties.
fn wanted(body: &Value) -> Result<(u32, BTreeMap<String, String>), Refusal> {
    let count = body.get("partitions").unwrap_or(body);
    let count = integer(count).ok_or_else(|| Refusal::malformed("The number of partitions is missing"))?;
    let count = u32::try_from(count).ok().filter(|count| *count > 0);
    let count = count.ok_or_else(|| {
        let status = axum::http::StatusCode::NOT_ACCEPTABLE;
        Refusal::new(status, "Number of partitions should be more than 0")
    })?;
    let properties = match body.get("properties") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(given) => serde::Deserialize::deserialize(given)
            .map_err(|error: serde_json::Error| Refusal::malformed(format!("Invalid properties: {error}")))?,
    };
    Ok((count, properties))
}

fn check_count(broker: &Handle, count: u32) -> Result<(), Refusal> {
    match broker.settings().current().topics.max_partitions {
        Some(most) if count > most => Err(Refusal::new(
            axum::http::StatusCode::NOT_ACCEPTABLE,
            format!("Number of partitions should be less than or equal to {most}"),
        )),
        _ => Ok(()),
    }
}

pub(super) async fn create(at: Permitted<Topic>, Body(body): Body<Value>) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    let (count, properties) = wanted(&body)?;
    check_count(broker, count)?;
    if !broker.resources().namespaces().exists(name.namespace()).await? {
        return Err(Refusal::not_found("Namespace not found"));
    }
    let created = broker.resources().topics().create_partitioned(name, count, properties).await;
    created.map_err(|error| Refusal::from(error).or_exists("This topic already exists"))?;
    make_partitions(broker, name, 0..count).await?;
    DONE
}

/// Makes the partitions themselves, so that whoever asks for one finds it.
async fn make_partitions(broker: &Handle, name: &TopicName, indexes: std::ops::Range<u32>) -> Result<(), Refusal> {
    if !name.is_persistent() {
        return Ok(());
    }
    let parts: Vec<_> = indexes.map(|index| name.partition(index)).collect();
    let made = for_each(&parts, |part| async move { broker.create_topic(&part, BTreeMap::new()).await }).await;
    for outcome in made {
        outcome.or_else(exists_is_fine)?;
    }
    Ok(())
}

fn exists_is_fine(failure: Failure) -> Result<(), Failure> {
    if failure.conflict == Some(Conflict::Exists) { Ok(()) } else { Err(failure) }
}

/// Adds partitions. The subscriptions there are get every message of the new ones as well.
pub(super) async fn grow(at: Permitted<Topic>, Body(body): Body<Value>) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    let (count, _) = wanted(&body)?;
    check_count(broker, count)?;
    let Some(before) = partition_count(broker, name).await? else {
        return Err(Refusal::conflict(format!("Topic {name} is not the partitioned topic.")));
    };
    if count < before {
        return Err(Refusal::new(
            axum::http::StatusCode::UNPROCESSABLE_ENTITY,
            format!("Desired partitions {count} can't be less than the current partitions {before}."),
        ));
    }
    let subscriptions = durable_subscriptions(broker, name, before).await?;
    let change = |partitioned: &mut PartitionedTopic| {
        partitioned.partitions = count;
        Ok(())
    };
    broker.resources().topics().update_partitioned(name, change).await?;
    make_partitions(broker, name, before..count).await?;
    if name.is_persistent() {
        let parts: Vec<_> = (before..count).map(|index| name.partition(index)).collect();
        for subscription in &subscriptions {
            let made = for_each(&parts, |part| async move {
                // From the first message: a producer may already have found the partition.
                broker.create_subscription(&part, subscription, Start::Earliest, BTreeMap::new()).await
            });
            for outcome in made.await {
                outcome.or_else(exists_is_fine)?;
            }
        }
    }
    DONE
}

async fn durable_subscriptions(broker: &Handle, name: &TopicName, count: u32) -> Result<BTreeSet<String>, Refusal> {
    let parts: Vec<_> = (0..count).map(|index| name.partition(index)).collect();
    let mut names = BTreeSet::new();
    for stats in for_each(&parts, |part| async move { broker.topic_stats(&part).await }).await {
        match stats {
            Ok(stats) => {
                names.extend(stats.subscriptions.into_iter().filter(|(_, one)| one.is_durable).map(|(name, _)| name));
            }
            Err(failure) if failure.is_absence() => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Ok(names)
}

/// Deletes a topic with its partitions, policies and schemas.
pub(super) async fn delete(at: Permitted<Topic>, query: Parameters) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    let force = query.flag("force");
    let topics = broker.resources().topics();
    let Some(count) = partition_count(broker, name).await? else {
        return Err(Refusal::not_found(format!("Topic {name} not found.")));
    };
    let parts: Vec<_> = (0..count).map(|index| name.partition(index)).collect();
    if !force {
        // Rather nothing is deleted than some of it.
        for stats in for_each(&parts, |part| async move { stats_of_open(broker, &part).await }).await {
            let stats = stats?;
            if stats.is_some_and(|in_use| in_use) {
                return Err(Refusal::invalid("Topic has active producers/subscriptions"));
            }
        }
    }
    let deleted = for_each(&parts, |part| async move {
        if !part.is_persistent() && !broker.is_open(&part).await? {
            return Ok(());
        }
        broker.delete_topic(&part, force).await
    });
    for outcome in deleted.await {
        outcome.or_else(|failure| if failure.is_absence() { Ok(()) } else { Err(failure) })?;
    }
    topics.delete_partitioned(name).await?;
    topics.delete_policies(name).await?;
    broker.resources().schemas().purge(name).await?;
    DONE
}

/// Whether clients use a topic; `None` if it is not there.
async fn stats_of_open(broker: &Handle, name: &TopicName) -> Result<Option<bool>, Refusal> {
    match require_single(broker, name).await {
        Err(refusal) if refusal.status == axum::http::StatusCode::NOT_FOUND => return Ok(None),
        outcome => outcome?,
    }
    let stats = broker.topic_stats(name).await?;
    let consumed = stats.subscriptions.values().any(|subscription| !subscription.consumers.is_empty());
    Ok(Some(consumed || !stats.publishers.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_of_partitions_is_read_in_every_form() {
        for body in [json!(3), json!("3"), json!({"partitions": 3, "properties": null})] {
            assert_eq!(wanted(&body).unwrap(), (3, BTreeMap::new()));
        }
        let (_, properties) = wanted(&json!({"partitions": 1, "properties": {"a": "b"}})).unwrap();
        assert_eq!(properties["a"], "b");
        for (body, status) in
            [(json!(0), 406), (json!(-1), 406), (json!(null), 400), (json!("x"), 400), (json!([]), 400)]
        {
            assert_eq!(wanted(&body).unwrap_err().status, status, "{body}");
        }
    }
}
