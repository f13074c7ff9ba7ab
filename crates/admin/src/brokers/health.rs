//! Whether the broker can do its work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use plerion_broker::Handle;
use plerion_resources::names::{Domain, NamespaceName, TopicName};
use plerion_topic::Start;

use crate::app::App;
use crate::refusal::Refusal;

/// How long a healthy broker may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells checks apart that run at the same time.
static CHECKS: AtomicU64 = AtomicU64::new(0);

/// Makes and deletes a subscription of a topic of its own, both durable: the metadata store must answer, the shard must
/// serve the topic, and the journal must take writes. Nobody needs a permission to ask.
pub(super) async fn check(State(app): State<Arc<App>>) -> Result<&'static str, Refusal> {
    match tokio::time::timeout(PATIENCE, probe(&app.broker)).await {
        Ok(Ok(())) => Ok("ok"),
        Ok(Err(refusal)) => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, refusal.reason)),
        Err(_) => Err(Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("The broker has not stored a subscription within {} s", PATIENCE.as_secs()),
        )),
    }
}

async fn probe(broker: &Handle) -> Result<(), Refusal> {
    let namespace: NamespaceName = NamespaceName::SYSTEM.parse()?;
    let topic = TopicName::new(Domain::Persistent, &namespace, &format!("healthcheck-{}", broker.broker_id()))?;
    match broker.create_topic(&topic, BTreeMap::new()).await {
        Err(failure) if failure.conflict == Some(plerion_broker::Conflict::Exists) => {}
        outcome => outcome?,
    }
    let subscription = format!("healthcheck-{}", CHECKS.fetch_add(1, Ordering::Relaxed));
    match broker.create_subscription(&topic, &subscription, Start::Latest, BTreeMap::new()).await {
        // Left behind by a check that was given up.
        Err(failure) if failure.conflict == Some(plerion_broker::Conflict::Exists) => {}
        outcome => outcome?,
    }
    broker.delete_subscription(&topic, &subscription, true).await?;
    Ok(())
}
