//! How messages get to consumers, and come back.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::key::declare;
use crate::kind::choice::SubscriptionType;
use crate::kind::number::{Bytes, Count, Millis, OrNone};
use crate::kind::{SetOf, Switch};

declare! {
    /// How messages get to consumers, and come back.
    pub struct Subscriptions, "Subscriptions";

    /// The types of subscription that are served.
    "subscriptionTypesEnabled" => types: BTreeSet<SubscriptionType> as SetOf<SubscriptionType>
        = "Exclusive,Shared,Failover,Key_Shared", dynamic;

    /// How many messages a consumer of a Shared or Key_Shared subscription may hold without having acknowledged them.
    "maxUnackedMessagesPerConsumer" => max_unacked_per_consumer: Option<u32> as OrNone<Count> = "50000";

    /// How many messages all consumers of a Shared or Key_Shared subscription may hold without having acknowledged them.
    "maxUnackedMessagesPerSubscription" => max_unacked_per_subscription: Option<u32> as OrNone<Count> = "200000";

    /// Whether single messages of a batch are recorded as acknowledged.
    "acknowledgmentAtBatchIndexLevelEnabled" => batch_index_acks: bool as Switch = "false";

    /// How many entries are read at once for a subscription.
    "dispatcherMaxReadBatchSize" => max_read_entries: u32 as Count[1..=100_000] = "100", dynamic;

    /// How many bytes are read at once for a subscription.
    "dispatcherMaxReadSizeBytes" => max_read_bytes: u64 as Bytes[1024..=1_073_741_824] = "5242880", dynamic;

    /// How many entries a consumer of a Shared subscription gets before it is the next one's turn.
    "dispatcherMaxRoundRobinBatchSize" => max_round_robin_entries: u32 as Count[1..=100_000] = "20", dynamic;

    /// Whether Key_Shared subscriptions divide keys by a consistent hash ring, else by halving the largest range.
    "subscriptionKeySharedUseConsistentHashing" => key_shared_consistent_hashing: bool as Switch = "true";

    /// Points of each consumer on that ring.
    "subscriptionKeySharedConsistentHashingReplicaPoints" => key_shared_ring_points: u32 as Count[1..=10_000] = "100";

    /// Messages held back for a consumer of a Key_Shared subscription, times the number of its consumers, at which
    /// reading ahead stops.
    "keySharedLookAheadMsgInReplayThresholdPerConsumer" => key_shared_look_ahead_per_consumer: Option<u32>
        as OrNone<Count> = "2000", dynamic;

    /// Messages held back for a Key_Shared subscription at which reading ahead stops. The lower of both bounds holds.
    "keySharedLookAheadMsgInReplayThresholdPerSubscription" => key_shared_look_ahead_per_subscription: Option<u32>
        as OrNone<Count> = "20000", dynamic;

    /// How long a Failover subscription waits before the next consumer takes over, so that what the last one
    /// acknowledged arrives first.
    "activeConsumerFailoverDelayTimeMillis" => failover_delay: Duration as Millis[0..=3_600_000] = "1000";

    /// Whether the active consumer of a Failover subscription is chosen by a consistent hash ring.
    "activeConsumerFailoverConsistentHashing" => failover_consistent_hashing: bool as Switch = "false";

    /// Whether messages can be delivered later than they are published.
    "delayedDeliveryEnabled" => delayed_delivery: bool as Switch = "true";

    /// How exact the time of delayed messages is.
    "delayedDeliveryTickTimeMillis" => delayed_delivery_tick: Duration as Millis[1..=3_600_000] = "1000";

    /// Whether a delayed message may not be delivered up to one tick early.
    "isDelayedDeliveryDeliverAtTimeStrict" => delayed_delivery_strict: bool as Switch = "false";
}
