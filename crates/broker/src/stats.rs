//! The figures of topics, under the names of Pulsar's REST interface.

use std::collections::BTreeMap;

use plerion_subscription::dispatcher::{self, Kind};
use plerion_topic::{Consumer, Flow, Producer, Subscription, Topic, nonpersistent};
use plerion_wire::proto::ProducerAccessMode;
use serde::Serialize;

/// A topic's figures.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Pulsar's TopicStats and mean the same")]
pub struct TopicStats {
    pub msg_rate_in: f64,
    pub msg_throughput_in: f64,
    pub msg_rate_out: f64,
    pub msg_throughput_out: f64,
    pub bytes_in_counter: u64,
    pub msg_in_counter: u64,
    pub bytes_out_counter: u64,
    pub msg_out_counter: u64,
    pub average_msg_size: f64,
    pub msg_chunk_published: bool,
    pub storage_size: u64,
    pub backlog_size: u64,
    pub publishers: Vec<PublisherStats>,
    pub waiting_publishers: usize,
    pub subscriptions: BTreeMap<String, SubscriptionStats>,
    pub replication: BTreeMap<String, ()>,
    pub deduplication_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic_epoch: Option<u64>,
    pub owner_broker: String,
}

/// A producer's figures.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Pulsar's PublisherStats and mean the same")]
pub struct PublisherStats {
    pub access_mode: &'static str,
    pub msg_rate_in: f64,
    pub msg_throughput_in: f64,
    pub average_msg_size: f64,
    pub chunked_message_rate: f64,
    pub producer_id: u64,
    pub producer_name: String,
    pub address: String,
    pub connected_since: String,
    pub client_version: String,
    pub metadata: BTreeMap<String, String>,
    pub supports_partial_producer: bool,
}

/// A subscription's figures.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Pulsar's SubscriptionStats and mean the same")]
pub struct SubscriptionStats {
    pub msg_rate_out: f64,
    pub msg_throughput_out: f64,
    pub bytes_out_counter: u64,
    pub msg_out_counter: u64,
    pub msg_rate_redeliver: f64,
    pub msg_rate_expired: f64,
    pub total_msg_expired: u64,
    pub msg_drop_rate: f64,
    pub msg_backlog: u64,
    pub backlog_size: i64,
    pub msg_backlog_no_delayed: u64,
    pub blocked_subscription_on_unacked_msgs: bool,
    pub msg_delayed: u64,
    pub unacked_messages: u64,
    pub r#type: &'static str,
    pub active_consumer_name: Option<String>,
    pub consumers: Vec<ConsumerStats>,
    pub is_durable: bool,
    pub is_replicated: bool,
    pub allow_out_of_order_delivery: bool,
    pub consumers_after_mark_delete_position: BTreeMap<String, String>,
    pub non_contiguous_deleted_messages_ranges: usize,
    pub subscription_properties: BTreeMap<String, String>,
}

/// A consumer's figures.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Pulsar's ConsumerStats and mean the same")]
pub struct ConsumerStats {
    pub msg_rate_out: f64,
    pub msg_throughput_out: f64,
    pub bytes_out_counter: u64,
    pub msg_out_counter: u64,
    pub msg_rate_redeliver: f64,
    pub consumer_name: String,
    pub available_permits: i64,
    pub unacked_messages: u64,
    pub avg_messages_per_entry: u64,
    pub blocked_consumer_on_unacked_msgs: bool,
    pub address: String,
    pub connected_since: String,
    pub client_version: String,
    pub last_acked_timestamp: u64,
    pub last_consumed_timestamp: u64,
    pub key_hash_ranges: Vec<String>,
    pub metadata: BTreeMap<String, String>,
}

/// What a topic tells of itself. Non-persistent topics have the same figures, those of storage being 0.
pub(crate) fn topic(topic: &Topic, owner: &str) -> TopicStats {
    let subscriptions: BTreeMap<_, _> = if topic.log().is_some() {
        topic.subscriptions().iter().map(|one| (one.name.to_string(), persistent(one))).collect()
    } else {
        topic.broadcasts().iter().map(|one| (one.name.to_string(), passing(one))).collect()
    };
    let (waiting, attached): (Vec<_>, Vec<_>) =
        topic.producers().into_iter().partition(|producer| !producer.is_ready());
    let (rate, throughput) = topic.published.rate();
    TopicStats {
        msg_rate_in: rate,
        msg_throughput_in: throughput,
        msg_rate_out: subscriptions.values().map(|one| one.msg_rate_out).sum(),
        msg_throughput_out: subscriptions.values().map(|one| one.msg_throughput_out).sum(),
        bytes_in_counter: topic.published.bytes.get(),
        msg_in_counter: topic.published.messages.get(),
        bytes_out_counter: subscriptions.values().map(|one| one.bytes_out_counter).sum(),
        msg_out_counter: subscriptions.values().map(|one| one.msg_out_counter).sum(),
        average_msg_size: topic.published.average(),
        storage_size: topic.log().map_or(0, |log| log.bytes()),
        backlog_size: topic.backlog_bytes(),
        publishers: attached.iter().map(|producer| publisher(producer)).collect(),
        waiting_publishers: waiting.len(),
        deduplication_status: if topic.deduplicates() { "Enabled" } else { "Disabled" },
        topic_epoch: topic.log().and_then(|log| log.topic_epoch()),
        owner_broker: owner.to_owned(),
        subscriptions,
        ..TopicStats::default()
    }
}

fn publisher(producer: &Producer) -> PublisherStats {
    let (rate, throughput) = producer.published.rate();
    PublisherStats {
        access_mode: match producer.access_mode {
            ProducerAccessMode::Shared => "Shared",
            ProducerAccessMode::Exclusive => "Exclusive",
            ProducerAccessMode::WaitForExclusive => "WaitForExclusive",
            ProducerAccessMode::ExclusiveWithFencing => "ExclusiveWithFencing",
        },
        msg_rate_in: rate,
        msg_throughput_in: throughput,
        average_msg_size: producer.published.average(),
        producer_id: producer.id,
        producer_name: producer.name.to_string(),
        address: producer.client.address.to_string(),
        connected_since: timestamp(producer.connected_since),
        client_version: producer.client.version.to_string(),
        metadata: producer.metadata.clone(),
        ..PublisherStats::default()
    }
}

fn persistent(subscription: &Subscription) -> SubscriptionStats {
    let figures = subscription.figures();
    let ranges = subscription.key_ranges();
    let consumers: Vec<_> = subscription.consumers().iter().map(|one| consumer(one, &ranges)).collect();
    SubscriptionStats {
        msg_rate_out: consumers.iter().map(|one| one.msg_rate_out).sum(),
        msg_throughput_out: consumers.iter().map(|one| one.msg_throughput_out).sum(),
        bytes_out_counter: figures.bytes_out,
        msg_out_counter: figures.messages_out,
        total_msg_expired: figures.expired,
        msg_backlog: figures.backlog,
        msg_backlog_no_delayed: figures.backlog.saturating_sub(figures.delayed),
        backlog_size: -1,
        blocked_subscription_on_unacked_msgs: figures.blocked,
        msg_delayed: figures.delayed,
        unacked_messages: figures.unacked,
        r#type: type_name(figures.kind),
        active_consumer_name: figures.active_consumer,
        is_durable: subscription.durable,
        non_contiguous_deleted_messages_ranges: figures.ack_ranges,
        subscription_properties: subscription.properties.borrow().clone().into_iter().collect(),
        consumers,
        ..SubscriptionStats::default()
    }
}

fn passing(subscription: &nonpersistent::Subscription) -> SubscriptionStats {
    let consumers: Vec<_> = subscription.consumers().iter().map(|one| consumer(one, &[])).collect();
    SubscriptionStats {
        msg_rate_out: consumers.iter().map(|one| one.msg_rate_out).sum(),
        msg_throughput_out: consumers.iter().map(|one| one.msg_throughput_out).sum(),
        bytes_out_counter: subscription.delivered.bytes.get(),
        msg_out_counter: subscription.delivered.messages.get(),
        r#type: type_name(subscription.kind()),
        consumers,
        ..SubscriptionStats::default()
    }
}

fn consumer(consumer: &Consumer, ranges: &[(dispatcher::ConsumerKey, String)]) -> ConsumerStats {
    let figures = consumer.figures();
    let (rate, throughput) = consumer.delivered.rate();
    ConsumerStats {
        msg_rate_out: rate,
        msg_throughput_out: throughput,
        bytes_out_counter: consumer.delivered.bytes.get(),
        msg_out_counter: consumer.delivered.messages.get(),
        consumer_name: consumer.name.to_string(),
        available_permits: figures.as_ref().map_or(0, |figures| figures.permits),
        unacked_messages: figures.as_ref().map_or(0, |figures| figures.unacked),
        avg_messages_per_entry: per_entry(&consumer.delivered),
        blocked_consumer_on_unacked_msgs: figures.as_ref().is_some_and(|figures| figures.blocked),
        address: consumer.client.address.to_string(),
        connected_since: timestamp(consumer.connected_since),
        client_version: consumer.client.version.to_string(),
        last_acked_timestamp: consumer.last_acked.get(),
        last_consumed_timestamp: consumer.last_consumed.get(),
        key_hash_ranges: ranges
            .iter()
            .filter(|(key, _)| *key == consumer.session())
            .map(|(_, range)| range.clone())
            .collect(),
        metadata: consumer.metadata.clone(),
        ..ConsumerStats::default()
    }
}

fn per_entry(flow: &Flow) -> u64 {
    flow.messages.get().checked_div(flow.entries.get()).unwrap_or(0)
}

/// A subscription type's name in Pulsar's texts.
pub(crate) fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Exclusive => "Exclusive",
        Kind::Shared => "Shared",
        Kind::Failover => "Failover",
        Kind::KeyShared => "Key_Shared",
    }
}

/// A time as Pulsar prints it, in UTC: `2026-11-30T16:10:02.123Z`.
pub fn timestamp(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Days to a civil date, by Howard Hinnant's algorithm "civil_from_days".
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_civil() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(timestamp(1_796_055_002_123), "2026-11-30T16:10:02.123Z");
    }
}
