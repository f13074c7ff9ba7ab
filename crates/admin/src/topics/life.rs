//! Listing, creating and ending topics.

use std::collections::BTreeMap;

use axum::{Extension, Json};
use plerion_broker::TopicKind;
use plerion_resources::names::Domain;

use super::position::MessageId;
use super::{for_each, partition_count, require_single};
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Permitted, Topic, Topics};
use crate::query::Parameters;
use crate::refusal::Refusal;

/// The full names of a namespace's topics, partitions and all; `?bundle=` is not looked at.
pub(super) async fn list(
    at: Permitted<Topics>,
    Extension(domain): Extension<Domain>,
) -> Result<Json<Vec<String>>, Refusal> {
    if !at.broker.resources().namespaces().exists(&at.target.0).await? {
        return Err(Refusal::not_found("Namespace does not exist"));
    }
    let kind = match domain {
        Domain::Persistent => TopicKind::Persistent,
        Domain::NonPersistent => TopicKind::NonPersistent,
    };
    Ok(Json(at.broker.topics(&at.target.0, kind).await?))
}

pub(super) async fn create(at: Permitted<Topic>, Body(properties): Body<Option<BTreeMap<String, String>>>) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    if !broker.resources().namespaces().exists(name.namespace()).await? {
        return Err(Refusal::not_found("Namespace not found"));
    }
    if partition_count(broker, name).await?.is_some() {
        return Err(Refusal::conflict("This topic already exists"));
    }
    if name.is_partition() {
        let base = name.base();
        let count = partition_count(broker, &base).await?.unwrap_or(0);
        if name.partition_index().is_some_and(|index| index >= count) {
            return Err(Refusal::invalid(format!(
                "Can't create topic {} with \"-partition-\" followed by numeric value if there isn't a partitioned \
                 topic {} created.",
                name.local_name(),
                base.local_name()
            )));
        }
    }
    if !name.is_persistent() {
        if broker.is_open(name).await? {
            return Err(Refusal::conflict("This topic already exists"));
        }
        broker.open_topic(name).await?;
        return DONE;
    }
    broker.create_topic(name, properties.unwrap_or_default()).await?;
    DONE
}

/// Deletes a topic that is not partitioned, or one partition. Its schemas go with it.
pub(super) async fn delete(at: Permitted<Topic>, query: Parameters) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    if partition_count(broker, name).await?.is_some() {
        return Err(Refusal::conflict(format!(
            "{name} is a partitioned topic, instead of calling delete topic, please call delete-partitioned-topic."
        )));
    }
    require_single(broker, name).await?;
    broker.delete_topic(name, query.flag("force")).await?;
    if !name.is_partition() {
        broker.resources().topics().delete_policies(name).await?;
        broker.resources().schemas().purge(name).await?;
    }
    DONE
}

pub(super) async fn unload(at: Permitted<Topic>) -> Done {
    let (broker, name) = (&at.broker, &at.target.0);
    let parts = super::parts(broker, name).await?;
    let is_partitioned = parts.first() != Some(name);
    let unloaded = super::combined(for_each(&parts, |part| async move { broker.unload_topic(&part).await }).await);
    match unloaded {
        // No partition was used yet, so none is loaded.
        Err(refusal) if is_partitioned && refusal.status == axum::http::StatusCode::NOT_FOUND => DONE,
        outcome => {
            outcome?;
            DONE
        }
    }
}

pub(super) async fn terminate(at: Permitted<Topic>) -> Result<Json<MessageId>, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    if partition_count(broker, name).await?.is_some() {
        return Err(Refusal::not_allowed("Termination of a partitioned topic is not allowed"));
    }
    if !name.is_persistent() {
        return Err(Refusal::not_allowed("Termination of a non-persistent topic is not allowed"));
    }
    Ok(Json(MessageId::of(name, broker.terminate_topic(name).await?)))
}

/// The last message of each partition, by the partition's index.
pub(super) async fn terminate_partitions(at: Permitted<Topic>) -> Result<Json<BTreeMap<u32, MessageId>>, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    let Some(count) = partition_count(broker, name).await? else {
        return Err(Refusal::not_allowed(
            "Termination of a non-partitioned topic is not allowed using partitioned-terminate, please use terminate \
             commands",
        ));
    };
    let parts: Vec<_> = (0..count).map(|index| name.partition(index)).collect();
    let ends = for_each(&parts, |part| async move {
        let end = broker.terminate_topic(&part).await?;
        Ok((part.partition_index().unwrap_or(0), MessageId::of(&part, end)))
    });
    ends.await.into_iter().collect::<Result<_, Refusal>>().map(Json)
}
