//! What a dispatcher is told by policies.

use crate::delayed;

/// How consumers share a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One consumer only.
    Exclusive,
    /// Any consumer may get any entry.
    Shared,
    /// One consumer at a time, others stand by.
    Failover,
    /// Entries of one key go to one consumer at a time, in order.
    KeyShared,
}

impl Kind {
    /// Whether at most one consumer is served at a time, strictly in order.
    pub const fn is_single(self) -> bool {
        matches!(self, Self::Exclusive | Self::Failover)
    }
}

/// The limits and choices of one subscription. Where 0 is said to mean none, it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The topic's full name, which the Failover ring hashes.
    pub topic: String,
    /// Which partition the topic is, if it is one.
    pub partition: Option<u32>,
    /// Whether the subscription has a durable cursor.
    pub durable: bool,
    /// `activeConsumerFailoverConsistentHashing`.
    pub failover_ring: bool,
    /// `activeConsumerFailoverDelayTimeMillis`: how long a new active consumer waits while the old one, still
    /// connected, may acknowledge what it has.
    pub failover_delay_ms: u64,
    /// `subscriptionKeySharedUseConsistentHashing`; else ranges are halved.
    pub key_shared_ring: bool,
    /// `subscriptionKeySharedConsistentHashingReplicaPoints`.
    pub key_shared_ring_points: u32,
    /// `keySharedLookAheadMsgInReplayThresholdPerConsumer`; 0: none.
    pub look_ahead_per_consumer: u32,
    /// `keySharedLookAheadMsgInReplayThresholdPerSubscription`; 0: none.
    pub look_ahead_per_subscription: u32,
    /// `maxConsumersPerSubscription`; 0: none.
    pub max_consumers: u32,
    /// `maxUnackedMessagesPerConsumer`, for the shared kinds; 0: none.
    pub max_unacked_per_consumer: u32,
    /// `maxUnackedMessagesPerSubscription`, for the shared kinds; 0: none.
    pub max_unacked_per_subscription: u32,
    /// `dispatcherMaxReadBatchSize`: entries of one read, at least 1.
    pub max_read_entries: u32,
    /// `dispatcherMaxRoundRobinBatchSize`: messages a consumer gets before the next one's turn.
    pub round_robin_messages: u32,
    /// Delayed delivery.
    pub delayed: delayed::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partition: None,
            durable: true,
            failover_ring: false,
            failover_delay_ms: 1000,
            key_shared_ring: true,
            key_shared_ring_points: 100,
            look_ahead_per_consumer: 2000,
            look_ahead_per_subscription: 20_000,
            max_consumers: 0,
            max_unacked_per_consumer: 50_000,
            max_unacked_per_subscription: 200_000,
            max_read_entries: 100,
            round_robin_messages: 20,
            delayed: delayed::Settings::default(),
        }
    }
}

impl Settings {
    /// How many entries may be held back in memory with `consumers` connected before reading on stops.
    pub(super) fn look_ahead(&self, consumers: usize) -> usize {
        let limit = |value: u32| if value == 0 { usize::MAX } else { value as usize };
        limit(self.look_ahead_per_consumer)
            .saturating_mul(consumers.max(1))
            .min(limit(self.look_ahead_per_subscription))
    }

    /// How many messages a consumer may leave unacknowledged; non-durable subscriptions have no limit.
    pub(super) const fn consumer_limit(&self) -> u32 {
        if self.durable { self.max_unacked_per_consumer } else { 0 }
    }

    /// How many messages all consumers may leave unacknowledged; non-durable subscriptions have no limit.
    pub(super) const fn subscription_limit(&self) -> u32 {
        if self.durable { self.max_unacked_per_subscription } else { 0 }
    }

    /// Whether `unacked` messages reach the limit `max`.
    pub(super) const fn reaches(unacked: u64, max: u32) -> bool {
        max > 0 && unacked >= max as u64
    }

    /// Whether `unacked` messages keep something blocked by the limit `max` blocked: it opens at half of it.
    pub(super) const fn stays_blocked(unacked: u64, max: u32) -> bool {
        max > 0 && unacked > max as u64 / 2
    }
}
