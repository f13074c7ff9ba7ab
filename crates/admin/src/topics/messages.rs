//! Single messages and where they are.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use plerion_broker::Peeked;
use plerion_broker::stats::timestamp;
use plerion_resources::names::TopicName;
use plerion_subscription::Position;
use plerion_wire::{Payload, metadata};
use serde_json::json;

use super::position::MessageId;
use super::subscriptions::not_found;
use super::{absent, partition_count};
use crate::permitted::{Permitted, Topic};
use crate::refusal::Refusal;

async fn require_single(at: &Permitted<Topic>) -> Result<(), Refusal> {
    if partition_count(&at.broker, &at.target.0).await?.is_some() {
        return Err(absent(&at.target.0));
    }
    super::require_single(&at.broker, &at.target.0).await
}

fn number<T: std::str::FromStr>(at: &Permitted<Topic>, name: &str) -> Result<T, Refusal> {
    let text = at.params.get(name);
    text.parse().map_err(|_| Refusal::malformed(format!("'{text}' in the path must be an integer")))
}

pub(super) async fn last(at: Permitted<Topic>) -> Result<Json<MessageId>, Refusal> {
    require_single(&at).await?;
    Ok(Json(MessageId::of(&at.target.0, at.broker.last_position(&at.target.0).await?)))
}

/// The first message published at a time or later.
pub(super) async fn by_time(at: Permitted<Topic>) -> Result<Json<MessageId>, Refusal> {
    let time: i64 = number(&at, "time")?;
    require_single(&at).await?;
    let position = at.broker.position_by_time(&at.target.0, u64::try_from(time).unwrap_or(0)).await?;
    Ok(Json(MessageId::of(&at.target.0, position)))
}

pub(super) async fn entry(at: Permitted<Topic>) -> Result<Response, Refusal> {
    let position = Position { ledger: number(&at, "ledger")?, entry: number(&at, "entry")? };
    require_single(&at).await?;
    let found = at.broker.entry(&at.target.0, position).await;
    shown(&at.target.0, &found.map_err(|failure| Refusal::from(failure).or_not_found("Message id not found"))?)
}

/// The nth unacknowledged message of a subscription, counted from 1.
pub(super) async fn peek(at: Permitted<Topic>) -> Result<Response, Refusal> {
    let nth: u64 = number(&at, "nth")?;
    if nth == 0 {
        return Err(Refusal::invalid("Messages are counted from 1"));
    }
    require_single(&at).await?;
    let (name, subscription) = (&at.target.0, at.params.get("subscription"));
    let found = at.broker.peek(name, subscription, nth).await.map_err(|failure| {
        let is_message = failure.is_absence();
        let refusal = Refusal::from(failure);
        if is_message { refusal } else { refusal.or_not_found(&not_found(subscription, name.as_str())) }
    });
    shown(name, &found?)
}

/// An entry: its payload as it is stored, and its metadata as headers.
fn shown(topic: &TopicName, found: &Peeked) -> Result<Response, Refusal> {
    let unreadable = || Refusal::invalid(format!("The entry at {} cannot be read", found.position));
    let payload = Payload::parse(&found.entry).map_err(|_| unreadable())?;
    let metadata = metadata::decode(payload.metadata).map_err(|_| unreadable())?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    // What cannot be in a header is left out rather than the message.
    let mut add = |name: &str, value: String| {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value.as_bytes())) {
            headers.insert(name, value);
        }
    };
    let partition = topic.partition_index().map(|index| format!(":{index}")).unwrap_or_default();
    add("X-Pulsar-Message-ID", format!("{}{partition}", found.position));
    add("X-Pulsar-producer-name", metadata.producer_name.clone());
    add("X-Pulsar-sequence-id", metadata.sequence_id.to_string());
    add("X-Pulsar-publish-time", timestamp(metadata.publish_time));
    if let Some(time) = metadata.event_time.filter(|time| *time > 0) {
        add("X-Pulsar-event-time", timestamp(time));
    }
    if let Some(time) = metadata.deliver_at_time {
        add("X-Pulsar-deliver-at-time", timestamp(time.max(0).cast_unsigned()));
    }
    if let Some(key) = &metadata.partition_key {
        add("X-Pulsar-partition-key", key.clone());
    }
    if let Some(count) = metadata.num_messages_in_batch {
        add("X-Pulsar-num-batch-message", count.to_string());
        add("X-Pulsar-batch-size", payload.body.len().to_string());
    }
    if metadata.compression() as i32 != 0 {
        add("X-Pulsar-compression", metadata.compression().as_str_name().to_owned());
        add("X-Pulsar-uncompressed-size", metadata.uncompressed_size().to_string());
    }
    if !metadata.encryption_keys.is_empty() {
        add("X-Pulsar-Is-Encrypted", "true".to_owned());
    }
    if !metadata.properties.is_empty() {
        let properties: BTreeMap<_, _> = metadata.properties.iter().map(|pair| (&pair.key, &pair.value)).collect();
        add("X-Pulsar-PROPERTY", json!(properties).to_string());
    }
    Ok((headers, payload.body.to_vec()).into_response())
}
