//! `/admin/v2/persistent` and `/admin/v2/non-persistent`: topics. The domain comes with the request, as an extension.

use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post, put};
use futures::StreamExt;
use futures::stream;
use plerion_broker::{Failure, Handle};
use plerion_resources::names::TopicName;

use crate::app::App;
use crate::refusal::Refusal;

mod compaction;
mod cursors;
mod life;
mod messages;
mod partitions;
mod permissions;
mod policies;
mod position;
mod properties;
mod stats;
mod subscriptions;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().merge(topic_routes()).merge(subscription_routes()).merge(policy_routes())
}

fn topic_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/{tenant}/{namespace}", get(life::list))
        .route("/{tenant}/{namespace}/partitioned", get(partitions::list))
        .route("/{tenant}/{namespace}/{topic}", put(life::create).delete(life::delete))
        .route("/{tenant}/{namespace}/{topic}/unload", put(life::unload))
        .route("/{tenant}/{namespace}/{topic}/terminate", post(life::terminate))
        .route("/{tenant}/{namespace}/{topic}/terminate/partitions", post(life::terminate_partitions))
        .route(
            "/{tenant}/{namespace}/{topic}/partitions",
            get(partitions::read).put(partitions::create).post(partitions::grow).delete(partitions::delete),
        )
        .route("/{tenant}/{namespace}/{topic}/stats", get(stats::read))
        .route("/{tenant}/{namespace}/{topic}/partitioned-stats", get(stats::partitioned))
        .route("/{tenant}/{namespace}/{topic}/internalStats", get(stats::internal))
        .route("/{tenant}/{namespace}/{topic}/partitioned-internalStats", get(stats::partitioned_internal))
        .route("/{tenant}/{namespace}/{topic}/internal-info", get(stats::internal))
        .route("/{tenant}/{namespace}/{topic}/lastMessageId", get(messages::last))
        .route("/{tenant}/{namespace}/{topic}/messageid/{time}", get(messages::by_time))
        .route("/{tenant}/{namespace}/{topic}/ledger/{ledger}/entry/{entry}", get(messages::entry))
        .route("/{tenant}/{namespace}/{topic}/permissions", get(permissions::read))
        .route("/{tenant}/{namespace}/{topic}/permissions/{role}", post(permissions::grant).delete(permissions::revoke))
        .route(
            "/{tenant}/{namespace}/{topic}/properties",
            get(properties::read).put(properties::add).delete(properties::remove),
        )
        .route("/{tenant}/{namespace}/{topic}/compaction", get(compaction::read).put(compaction::start))
        .route("/{tenant}/{namespace}/{topic}/offload", get(compaction::offload).put(compaction::offload))
}

fn subscription_routes() -> Router<Arc<App>> {
    let subscription = |rest: &str| format!("/{{tenant}}/{{namespace}}/{{topic}}/subscription/{{subscription}}{rest}");
    Router::new()
        .route("/{tenant}/{namespace}/{topic}/subscriptions", get(subscriptions::list))
        .route("/{tenant}/{namespace}/{topic}/all_subscription/expireMessages/{seconds}", post(cursors::expire))
        .route(&subscription(""), put(subscriptions::create).delete(subscriptions::delete))
        .route(&subscription("/properties"), get(subscriptions::properties))
        .route(&subscription("/resetcursor"), post(cursors::reset))
        .route(&subscription("/resetcursor/{time}"), post(cursors::reset_to_time))
        .route(&subscription("/skip/{count}"), post(cursors::skip))
        .route(&subscription("/skip_all"), post(cursors::skip_all))
        .route(&subscription("/expireMessages/{seconds}"), post(cursors::expire))
        .route(&subscription("/position/{nth}"), get(messages::peek))
}

fn policy_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/{tenant}/{namespace}/{topic}/backlogQuotaMap", get(policies::quotas))
        .route("/{tenant}/{namespace}/{topic}/backlogQuota", post(policies::set_quota).delete(policies::unset_quota))
        .route(
            "/{tenant}/{namespace}/{topic}/{policy}",
            get(policies::read).post(policies::set).put(policies::set).delete(policies::unset),
        )
        .route("/{tenant}/{namespace}/{topic}/{policy}/{rest}", delete(policies::absent).get(policies::absent))
}

/// How many partitions are worked on at a time.
const AT_A_TIME: usize = 16;

fn absent(name: &TopicName) -> Refusal {
    Refusal::not_found(format!("Topic {name} not found"))
}

/// How many partitions a topic has, or `None` if it is not partitioned.
async fn partition_count(broker: &Handle, name: &TopicName) -> Result<Option<u32>, Refusal> {
    Ok(broker.resources().topics().partitioned(name).await?.map(|partitioned| partitioned.partitions))
}

/// Makes sure that a topic that is not partitioned is there.
async fn require_single(broker: &Handle, name: &TopicName) -> Result<(), Refusal> {
    if name.is_persistent() {
        return Ok(broker.require_topic(name).await?);
    }
    if broker.is_open(name).await? { Ok(()) } else { Err(absent(name)) }
}

/// Makes sure that a topic is there, partitioned or not.
async fn require(broker: &Handle, name: &TopicName) -> Result<(), Refusal> {
    match partition_count(broker, name).await? {
        Some(_) => Ok(()),
        None => require_single(broker, name).await,
    }
}

/// The topics that one name stands for: the partitions, or the topic itself.
async fn parts(broker: &Handle, name: &TopicName) -> Result<Vec<TopicName>, Refusal> {
    Ok(match partition_count(broker, name).await? {
        Some(count) => (0..count).map(|index| name.partition(index)).collect(),
        None => {
            require_single(broker, name).await?;
            vec![name.clone()]
        }
    })
}

/// Does `work` for every name, several at a time; the outcomes in the order of the names.
async fn for_each<T, F>(names: &[TopicName], work: impl Fn(TopicName) -> F) -> Vec<T>
where
    F: Future<Output = T>,
{
    stream::iter(names.iter().cloned().map(work)).buffered(AT_A_TIME).collect().await
}

/// The outcome of doing something to every part of a topic. A partition that was never used is not there yet: only
/// when there is none at all is the thing absent.
fn combined(outcomes: Vec<Result<(), Failure>>) -> Result<(), Refusal> {
    let mut absence = None;
    let mut done = false;
    for outcome in outcomes {
        match outcome.map_err(Refusal::from) {
            Ok(()) => done = true,
            Err(refusal) if refusal.status == axum::http::StatusCode::NOT_FOUND => absence = Some(refusal),
            Err(refusal) => return Err(refusal),
        }
    }
    match absence {
        Some(refusal) if !done => Err(refusal),
        _ => Ok(()),
    }
}
