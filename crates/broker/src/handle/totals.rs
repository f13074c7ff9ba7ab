//! Figures of the whole broker.

use std::sync::Arc;

use plerion_topic::{AckSaves, Totals};

use super::Handle;
use crate::failure::Failure;
use crate::stats::{self, TopicStats};

/// How many topics a shard looks at without serving clients in between.
const SLICE: usize = 32;

/// What the shards of a broker have done, summed.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the names are those of plerion_topic::Totals and mean the same")]
pub struct BrokerTotals {
    pub topics: usize,
    pub producers: usize,
    pub consumers: usize,
    pub messages_in: u64,
    pub bytes_in: u64,
    pub messages_out: u64,
    pub bytes_out: u64,
    pub duplicates: u64,
    pub checksum_errors: u64,
    pub unreadable: u64,
    pub dropped: u64,
    /// Bytes of publishing under way.
    pub publishing_bytes: usize,
}

impl Handle {
    /// What the broker has done since it started.
    ///
    /// # Errors
    /// [`Failure`] when the broker is stopping.
    pub async fn totals(&self) -> Result<BrokerTotals, Failure> {
        let mut all = BrokerTotals { publishing_bytes: self.core().publishing.used(), ..BrokerTotals::default() };
        for home in 0..self.core().doors.count() {
            let home = u16::try_from(home).unwrap_or(u16::MAX);
            let one = self.on(home, |shard| async move { of(&shard) }).await?;
            all.topics += one.topics;
            all.producers += one.producers;
            all.consumers += one.consumers;
            all.messages_in += one.messages_in;
            all.bytes_in += one.bytes_in;
            all.messages_out += one.messages_out;
            all.bytes_out += one.bytes_out;
            all.duplicates += one.duplicates;
            all.checksum_errors += one.checksum_errors;
            all.unreadable += one.unreadable;
            all.dropped += one.dropped;
        }
        Ok(all)
    }

    /// How long each shard takes to save acknowledgements.
    ///
    /// # Errors
    /// [`Failure`] when the broker is stopping.
    pub async fn ack_saves(&self) -> Result<Vec<Arc<AckSaves>>, Failure> {
        let mut all = Vec::new();
        for home in 0..self.core().doors.count() {
            let home = u16::try_from(home).unwrap_or(u16::MAX);
            all.push(self.on(home, |shard| async move { shard.context.ack_saves.clone() }).await?);
        }
        Ok(all)
    }

    /// The figures of every open topic.
    ///
    /// # Errors
    /// [`Failure`] when the broker is stopping.
    pub async fn all_topic_stats(&self) -> Result<Vec<(String, TopicStats)>, Failure> {
        let mut all = Vec::new();
        for home in 0..self.core().doors.count() {
            let home = u16::try_from(home).unwrap_or(u16::MAX);
            let owner = self.broker_id();
            let some = self
                .on(home, move |shard| async move {
                    let topics = shard.registry.topics();
                    let mut all = Vec::with_capacity(topics.len());
                    for some in topics.chunks(SLICE) {
                        all.extend(some.iter().map(|topic| (topic.name().to_string(), stats::topic(topic, &owner))));
                        // Whoever publishes does not wait for all of them.
                        tokio::task::yield_now().await;
                    }
                    all
                })
                .await?;
            all.extend(some);
        }
        Ok(all)
    }
}

fn of(shard: &crate::shard::Shard) -> BrokerTotals {
    let totals: &Totals = &shard.context.totals;
    BrokerTotals {
        topics: shard.registry.topic_count(),
        producers: shard.context.producers.len(),
        consumers: shard.context.consumers.len(),
        messages_in: totals.messages_in.get(),
        bytes_in: totals.bytes_in.get(),
        messages_out: totals.messages_out.get(),
        bytes_out: totals.bytes_out.get(),
        duplicates: totals.duplicates.get(),
        checksum_errors: totals.checksum_errors.get(),
        unreadable: totals.unreadable.get(),
        dropped: totals.dropped.get(),
        publishing_bytes: 0,
    }
}
