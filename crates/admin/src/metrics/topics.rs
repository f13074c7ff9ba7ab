//! The figures of topics and subscriptions, written in pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use plerion_broker::stats::{SubscriptionStats, TopicStats};
use plerion_resources::names::TopicName;

use super::exposition::{Exposition, labels};

/// How many series a piece of text holds.
const PIECE: usize = 500;

/// A name, whether it only grows, what it is, and how it is read.
type Family<T> = (&'static str, bool, &'static str, fn(&T) -> f64);

/// What identifies a series, and its figures.
type Labelled<T> = (String, T);

#[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
const OF_TOPIC: [Family<TopicStats>; 14] = [
    ("pulsar_producers_count", false, "Producers attached.", |it| it.publishers.len() as f64),
    ("pulsar_subscriptions_count", false, "Subscriptions.", |it| it.subscriptions.len() as f64),
    ("pulsar_consumers_count", false, "Consumers attached.", |it| {
        it.subscriptions.values().map(|one| one.consumers.len()).sum::<usize>() as f64
    }),
    ("pulsar_rate_in", false, "Messages published, a second.", |it| it.msg_rate_in),
    ("pulsar_rate_out", false, "Messages delivered, a second.", |it| it.msg_rate_out),
    ("pulsar_throughput_in", false, "Bytes published, a second.", |it| it.msg_throughput_in),
    ("pulsar_throughput_out", false, "Bytes delivered, a second.", |it| it.msg_throughput_out),
    ("pulsar_in_messages_total", true, "Messages published.", |it| it.msg_in_counter as f64),
    ("pulsar_in_bytes_total", true, "Bytes published.", |it| it.bytes_in_counter as f64),
    ("pulsar_out_messages_total", true, "Messages delivered.", |it| it.msg_out_counter as f64),
    ("pulsar_out_bytes_total", true, "Bytes delivered.", |it| it.bytes_out_counter as f64),
    ("pulsar_storage_size", false, "Bytes stored.", |it| it.storage_size as f64),
    ("pulsar_storage_backlog_size", false, "Bytes of the largest backlog.", |it| it.backlog_size as f64),
    ("pulsar_average_msg_size", false, "Bytes of a message.", |it| it.average_msg_size),
];

#[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
const OF_SUBSCRIPTION: [Family<SubscriptionStats>; 9] = [
    ("pulsar_subscription_back_log", false, "Entries not acknowledged.", |it| it.msg_backlog as f64),
    ("pulsar_subscription_back_log_no_delayed", false, "Entries not acknowledged and due.", |it| {
        it.msg_backlog_no_delayed as f64
    }),
    ("pulsar_subscription_delayed", false, "Entries that are not due.", |it| it.msg_delayed as f64),
    ("pulsar_subscription_unacked_messages", false, "Messages delivered and not acknowledged.", |it| {
        it.unacked_messages as f64
    }),
    ("pulsar_subscription_blocked_on_unacked_messages", false, "1 while too many are not acknowledged.", |it| {
        f64::from(u8::from(it.blocked_subscription_on_unacked_msgs))
    }),
    ("pulsar_subscription_consumers_count", false, "Consumers attached.", |it| it.consumers.len() as f64),
    ("pulsar_subscription_msg_rate_out", false, "Messages delivered, a second.", |it| it.msg_rate_out),
    ("pulsar_subscription_msg_throughput_out", false, "Bytes delivered, a second.", |it| it.msg_throughput_out),
    ("pulsar_subscription_total_msg_expired", true, "Entries expired.", |it| it.total_msg_expired as f64),
];

/// The text of all series, piece by piece, each made when it is asked for.
pub(super) fn series(cluster: &str, all: Vec<(String, TopicStats)>) -> impl Iterator<Item = String> + Send + use<> {
    let mut namespaces: BTreeMap<String, usize> = BTreeMap::new();
    let mut topics = Vec::with_capacity(all.len());
    let mut subscriptions = Vec::new();
    for (name, stats) in all {
        let Ok(topic) = name.parse::<TopicName>() else { continue };
        let namespace = topic.namespace().as_str();
        *namespaces.entry(namespace.to_owned()).or_default() += 1;
        let of_topic = [("cluster", cluster), ("namespace", namespace), ("topic", &name)];
        for (subscription, stats) in &stats.subscriptions {
            let pairs = [of_topic[0], of_topic[1], of_topic[2], ("subscription", subscription)];
            subscriptions.push((labels(&pairs), stats.clone()));
        }
        topics.push((labels(&of_topic), stats));
    }
    let mut counts = Exposition::default();
    counts.family("pulsar_topics_count", "gauge", "Topics that are open.");
    for (namespace, count) in namespaces {
        counts.sample("pulsar_topics_count", &labels(&[("cluster", cluster), ("namespace", &namespace)]), count);
    }
    std::iter::once(counts.into_text())
        .chain(pieces(&OF_TOPIC, Arc::new(topics)))
        .chain(pieces(&OF_SUBSCRIPTION, Arc::new(subscriptions)))
}

fn pieces<T: Send + Sync + 'static>(
    families: &'static [Family<T>],
    all: Arc<Vec<Labelled<T>>>,
) -> impl Iterator<Item = String> + Send {
    families.iter().flat_map(move |&(name, grows, help, read)| {
        let all = all.clone();
        (0..all.len()).step_by(PIECE).map(move |from| {
            let mut text = Exposition::default();
            if from == 0 {
                text.family(name, if grows { "counter" } else { "gauge" }, help);
            }
            for (labels, figures) in &all[from..all.len().min(from + PIECE)] {
                text.sample(name, labels, read(figures));
            }
            text.into_text()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_introduced_once_and_every_topic_follows() {
        let topics = (0..PIECE + 1).map(|index| (format!("persistent://t/n/{index}"), TopicStats::default())).collect();
        let pieces: Vec<_> = series("c", topics).collect();
        let text = pieces.concat();
        assert_eq!(text.matches("# TYPE pulsar_rate_in gauge\n").count(), 1);
        assert_eq!(text.matches("\npulsar_rate_in{").count(), PIECE + 1);
        assert!(text.contains("pulsar_topics_count{cluster=\"c\",namespace=\"t/n\"} 501\n"), "{}", pieces[0]);
        assert_eq!(pieces.len(), 1 + 2 * OF_TOPIC.len());
    }
}
