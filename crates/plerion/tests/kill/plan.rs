//! Who publishes and subscribes where.

use plerion_test_client::proto::command_subscribe::SubType;

/// A topic with its clients.
pub(crate) struct TopicPlan {
    pub(crate) name: &'static str,
    pub(crate) deduplicates: bool,
    pub(crate) producers: &'static [ProducerPlan],
    pub(crate) subscriptions: &'static [SubscriptionPlan],
}

/// A producer. Its messages are numbered from 0 on, and the number is the sequence id.
pub(crate) struct ProducerPlan {
    pub(crate) name: &'static str,
    /// The most messages it puts into an entry.
    pub(crate) batch: u64,
    /// How many keys it uses; none if 0.
    pub(crate) keys: u64,
}

/// A durable subscription.
pub(crate) struct SubscriptionPlan {
    pub(crate) name: &'static str,
    pub(crate) kind: SubType,
    pub(crate) consumers: u64,
    pub(crate) order: Order,
}

/// What order the first deliveries of messages keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Of each producer, without a gap.
    Producer,
    /// Of each key of each producer.
    Key,
    /// None: several consumers share everything.
    None,
}

/// The namespace that deduplicates.
pub(crate) const DEDUPLICATING: &str = "public/deduplicating";

const fn single(name: &'static str) -> ProducerPlan {
    ProducerPlan { name, batch: 1, keys: 0 }
}

const fn exclusive(name: &'static str) -> SubscriptionPlan {
    SubscriptionPlan { name, kind: SubType::Exclusive, consumers: 1, order: Order::Producer }
}

const fn shared(name: &'static str) -> SubscriptionPlan {
    SubscriptionPlan { name, kind: SubType::Shared, consumers: 2, order: Order::None }
}

/// Every kind of producer and subscription.
pub(crate) const TOPICS: &[TopicPlan] = &[
    TopicPlan {
        name: "persistent://public/default/single",
        deduplicates: false,
        producers: &[single("single-a"), single("single-b")],
        subscriptions: &[exclusive("exclusive"), shared("shared")],
    },
    TopicPlan {
        name: "persistent://public/default/batched",
        deduplicates: false,
        producers: &[ProducerPlan { name: "batched-a", batch: 20, keys: 0 }, single("batched-b")],
        subscriptions: &[
            SubscriptionPlan { name: "failover", kind: SubType::Failover, consumers: 1, order: Order::Producer },
            shared("shared"),
        ],
    },
    TopicPlan {
        name: "persistent://public/default/keyed",
        deduplicates: false,
        producers: &[
            ProducerPlan { name: "keyed-a", batch: 1, keys: 7 },
            ProducerPlan { name: "keyed-b", batch: 1, keys: 100 },
        ],
        subscriptions: &[SubscriptionPlan {
            name: "key-shared",
            kind: SubType::KeyShared,
            consumers: 3,
            order: Order::Key,
        }],
    },
    TopicPlan {
        name: "persistent://public/deduplicating/once",
        deduplicates: true,
        producers: &[single("once-a"), ProducerPlan { name: "once-b", batch: 10, keys: 0 }],
        subscriptions: &[exclusive("exclusive")],
    },
];
