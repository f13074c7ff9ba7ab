//! Skipping the backlog and deleting subscriptions in all topics of a namespace, or of one of its bundles.

use plerion_broker::{Failure, TopicKind};
use plerion_placement::bundle::{BundleRange, Bundles};
use plerion_resources::names::TopicName;

use super::bundles;
use super::life::policies;
use crate::app::{DONE, Done};
use crate::permitted::{Namespace, Permitted};
use crate::refusal::Refusal;

/// The persistent topics that are meant.
async fn topics(at: &Permitted<Namespace>) -> Result<Vec<TopicName>, Refusal> {
    let namespace = &at.target.0;
    policies(&at.broker, namespace).await?;
    let within: Option<BundleRange> =
        if at.params.get("policy").is_empty() { None } else { Some(bundles::named(at).await?.range) };
    let data = at.broker.resources().namespaces().bundles(namespace).await?.value;
    let ring = Bundles::from_request(&data.boundaries).map_err(|error| Refusal::invalid(error.to_string()))?;
    let mut topics = Vec::new();
    for name in at.broker.topics(namespace, TopicKind::Persistent).await? {
        if within.is_none_or(|range| ring.find_topic(&name) == range) {
            topics.push(name.parse()?);
        }
    }
    Ok(topics)
}

/// Topics that were never used, or are deleted meanwhile, have nothing to be done to.
fn unless_absent(outcome: Result<(), Failure>) -> Result<(), Refusal> {
    match outcome.map_err(Refusal::from) {
        Err(refusal) if refusal.status == axum::http::StatusCode::NOT_FOUND => Ok(()),
        outcome => outcome,
    }
}

pub(super) async fn clear(at: Permitted<Namespace>) -> Done {
    let subscription = at.params.get("subscription");
    for topic in topics(&at).await? {
        let names = match at.broker.subscriptions(&topic).await {
            Ok(names) => names,
            Err(failure) => {
                unless_absent(Err(failure))?;
                continue;
            }
        };
        for name in names.iter().filter(|name| subscription.is_empty() || *name == subscription) {
            unless_absent(at.broker.skip(&topic, name, None).await)?;
        }
    }
    DONE
}

pub(super) async fn unsubscribe(at: Permitted<Namespace>) -> Done {
    for topic in topics(&at).await? {
        unless_absent(at.broker.delete_subscription(&topic, at.params.get("subscription"), false).await)?;
    }
    DONE
}
