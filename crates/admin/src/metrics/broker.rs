//! The figures of the broker as a whole.

use std::sync::atomic::{AtomicU64, Ordering};

use plerion_broker::{AckSaves, Handle, ShardCounters};

use super::exposition::Exposition;
use crate::refusal::Refusal;

pub(super) async fn write(broker: &Handle, to: &mut Exposition) -> Result<(), Refusal> {
    let sum = |of: fn(&ShardCounters) -> &AtomicU64| -> u64 {
        broker.counters().iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum()
    };
    let open: usize = broker.counters().iter().map(|shard| shard.open_connections()).sum();
    to.gauge("pulsar_active_connections", "Connections that are open.", open);
    to.counter("pulsar_connection_created_total_count", "Connections accepted.", sum(|it| &it.opened));
    to.counter("pulsar_connection_closed_total_count", "Connections ended.", sum(|it| &it.closed));
    to.counter("plerion_connections_refused_total", "Connections refused for being too many.", sum(|it| &it.refused));
    to.counter("plerion_connections_silent_total", "Connections closed for staying silent.", sum(|it| &it.silent));
    to.counter("plerion_malformed_frames_total", "Connections closed for a malformed frame.", sum(|it| &it.malformed));
    to.counter("plerion_lookups_total", "Lookups answered.", sum(|it| &it.lookups));
    to.counter("plerion_request_errors_total", "Requests answered with an error.", sum(|it| &it.errors));
    to.counter("plerion_topic_loads_total", "Topics opened.", sum(|it| &it.loads));
    to.counter("plerion_topic_load_failures_total", "Topics that could not be opened.", sum(|it| &it.load_failures));

    let totals = broker.totals().await?;
    to.gauge("pulsar_broker_topics_count", "Topics that are open.", totals.topics);
    to.gauge("pulsar_broker_producers_count", "Producers attached.", totals.producers);
    to.gauge("pulsar_broker_consumers_count", "Consumers attached.", totals.consumers);
    to.counter("plerion_messages_in_total", "Messages published, of topics no longer open too.", totals.messages_in);
    to.counter("plerion_bytes_in_total", "Bytes published, of topics no longer open too.", totals.bytes_in);
    to.counter("plerion_messages_out_total", "Messages delivered, of topics no longer open too.", totals.messages_out);
    to.counter("plerion_bytes_out_total", "Bytes delivered, of topics no longer open too.", totals.bytes_out);
    to.counter("plerion_duplicates_total", "Messages dropped for having been published before.", totals.duplicates);
    to.counter("plerion_checksum_errors_total", "Messages refused for their checksum.", totals.checksum_errors);
    to.counter("plerion_unreadable_entries_total", "Entries that could not be read.", totals.unreadable);
    to.counter("plerion_dropped_messages_total", "Messages dropped that are not kept.", totals.dropped);
    to.gauge("plerion_publishing_bytes", "Bytes of messages that are being stored.", totals.publishing_bytes);

    let saves = broker.ack_saves().await?;
    let mut counts = vec![0; AckSaves::bounds().len() + 1];
    for one in &saves {
        counts.iter_mut().zip(one.counts()).for_each(|(sum, count)| *sum += count);
    }
    to.histogram(
        "plerion_ack_durable_seconds",
        "From taking an acknowledgement that wants no answer to its being durable.",
        &AckSaves::bounds(),
        &counts,
        saves.iter().map(|one| one.sum().as_secs_f64()).sum(),
    );
    Ok(())
}
