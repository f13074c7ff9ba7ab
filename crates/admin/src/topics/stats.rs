//! The figures of topics.

use std::collections::BTreeMap;

use axum::Json;
use plerion_broker::{Handle, InternalStats};
use plerion_resources::names::TopicName;
use serde_json::{Map, Value, json};

use super::{absent, for_each, partition_count, require_single};
use crate::permitted::{Permitted, Topic};
use crate::query::Parameters;
use crate::refusal::Refusal;

/// Keys of Pulsar's figures that are always the same here; some clients need them to be there.
const CONSTANTS: [(&str, i64); 5] = [
    ("offloadedStorageSize", 0),
    ("ongoingTxnCount", 0),
    ("abortedTxnCount", 0),
    ("committedTxnCount", 0),
    ("publishRateLimitedTimes", 0),
];

pub(super) async fn read(at: Permitted<Topic>, query: Parameters) -> Result<Json<Value>, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    if partition_count(broker, name).await?.is_some() {
        return Err(absent(name));
    }
    require_single(broker, name).await?;
    Ok(Json(figures(broker, name, &query).await?))
}

async fn figures(broker: &Handle, name: &TopicName, query: &Parameters) -> Result<Value, Refusal> {
    let mut stats = broker.topic_stats(name).await?;
    if query.flag("excludePublishers") {
        stats.publishers.clear();
    }
    if query.flag("excludeConsumers") {
        stats.subscriptions.values_mut().for_each(|subscription| subscription.consumers.clear());
    }
    let mut shown = serde_json::to_value(stats).map_err(|error| Refusal::malformed(error.to_string()))?;
    if let Some(shown) = shown.as_object_mut() {
        shown.extend(CONSTANTS.map(|(key, value)| (key.to_owned(), json!(value))));
    }
    Ok(shown)
}

/// The sums over the partitions, with `?perPartition=true` also those of each.
pub(super) async fn partitioned(at: Permitted<Topic>, query: Parameters) -> Result<Json<Value>, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    let Some(metadata) = broker.resources().topics().partitioned(name).await? else {
        return Err(Refusal::not_found(format!("Partitioned Topic {name} not found")));
    };
    let parts: Vec<_> = (0..metadata.partitions).map(|index| name.partition(index)).collect();
    let query = &query;
    let all = for_each(&parts, |part| async move {
        require_single(broker, &part).await?;
        Ok::<_, Refusal>((part.to_string(), figures(broker, &part, query).await?))
    });
    let mut partitions = Map::new();
    for outcome in all.await {
        match outcome {
            Ok((part, figures)) => drop(partitions.insert(part, figures)),
            // Never used, so it has no figures.
            Err(refusal) if refusal.status == axum::http::StatusCode::NOT_FOUND => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let mut total = sum(partitions.values());
    total.remove("ownerBroker");
    total.insert("metadata".to_owned(), json!(metadata));
    let shown = if query.get("perPartition").is_none() || query.flag("perPartition") { partitions } else { Map::new() };
    total.insert("partitions".to_owned(), Value::Object(shown));
    Ok(Json(Value::Object(total)))
}

/// Adds figures up, key by key: numbers are summed, lists joined, and where texts differ the first one stays.
fn sum<'a>(all: impl ExactSizeIterator<Item = &'a Value>) -> Map<String, Value> {
    let count = all.len();
    let mut total = Value::Object(Map::new());
    all.for_each(|one| add(&mut total, one));
    let mut total = total.as_object().cloned().unwrap_or_default();
    if let Some(average) = total.get("averageMsgSize").and_then(Value::as_f64)
        && count > 0
    {
        #[expect(clippy::cast_precision_loss, reason = "partitions are far fewer than 2^52")]
        total.insert("averageMsgSize".to_owned(), json!(average / count as f64));
    }
    total
}

fn add(total: &mut Value, one: &Value) {
    match (total, one) {
        (Value::Object(total), Value::Object(one)) => {
            for (key, value) in one {
                match total.get_mut(key) {
                    Some(known) => add(known, value),
                    None => drop(total.insert(key.clone(), value.clone())),
                }
            }
        }
        (Value::Array(total), Value::Array(one)) => total.extend(one.iter().cloned()),
        (total @ Value::Number(_), Value::Number(_)) => *total = added(total, one),
        (total @ Value::Bool(false), Value::Bool(true)) => *total = Value::Bool(true),
        (total @ Value::Null, one) => total.clone_from(one),
        _ => {}
    }
}

fn added(one: &Value, other: &Value) -> Value {
    match (one.as_i64(), other.as_i64()) {
        // Both are the mark of a figure that is not known.
        (Some(-1), Some(-1)) => json!(-1),
        (Some(one), Some(other)) => json!(one.saturating_add(other)),
        _ => json!(one.as_f64().unwrap_or(0.0) + other.as_f64().unwrap_or(0.0)),
    }
}

pub(super) async fn internal(at: Permitted<Topic>) -> Result<Json<InternalStats>, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    if partition_count(broker, name).await?.is_some() {
        return Err(absent(name));
    }
    require_single(broker, name).await?;
    Ok(Json(broker.internal_stats(name).await?))
}

pub(super) async fn partitioned_internal(at: Permitted<Topic>) -> Result<Json<Value>, Refusal> {
    let (broker, name) = (&at.broker, &at.target.0);
    let Some(metadata) = broker.resources().topics().partitioned(name).await? else {
        return Err(Refusal::not_found(format!("Partitioned Topic {name} not found")));
    };
    let parts: Vec<_> = (0..metadata.partitions).map(|index| name.partition(index)).collect();
    let mut partitions = BTreeMap::new();
    for (part, stats) in
        parts.iter().zip(for_each(&parts, |part| async move { broker.internal_stats(&part).await }).await)
    {
        match stats {
            Ok(stats) => drop(partitions.insert(part.to_string(), stats)),
            Err(failure) if failure.is_absence() => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Ok(Json(json!({ "metadata": metadata, "partitions": partitions })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_add_up() {
        let one = json!({
            "msgRateIn": 1.5, "msgInCounter": 2, "averageMsgSize": 10.0, "backlogSize": -1,
            "publishers": [{"producerId": 1}],
            "subscriptions": {"s": {"msgBacklog": 3, "type": "Shared", "blocked": false}}, "ownerBroker": "a",
        });
        let other = json!({
            "msgRateIn": 0.5, "msgInCounter": 5, "averageMsgSize": 20.0, "backlogSize": -1,
            "publishers": [{"producerId": 2}],
            "subscriptions": {"s": {"msgBacklog": 4, "type": "Shared", "blocked": true}, "t": {"msgBacklog": 1}},
        });
        let total = Value::Object(sum([&one, &other].into_iter()));
        assert_eq!(
            total,
            json!({
                "msgRateIn": 2.0, "msgInCounter": 7, "averageMsgSize": 15.0, "backlogSize": -1,
                "publishers": [{"producerId": 1}, {"producerId": 2}],
                "subscriptions": {"s": {"msgBacklog": 7, "type": "Shared", "blocked": true}, "t": {"msgBacklog": 1}},
                "ownerBroker": "a",
            })
        );
        assert!(sum([].iter()).is_empty());
    }
}
