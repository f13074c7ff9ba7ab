//! Which topics there may be, who makes and removes them, and their bounds.

use std::time::Duration;

use crate::key::declare;
use crate::kind::Switch;
use crate::kind::choice::{InactiveTopicMode, SchemaStrategy, TopicType};
use crate::kind::number::{Count, OrNone, Seconds};

declare! {
    /// Which topics there may be, who makes and removes them, and their bounds.
    pub struct Topics, "Topics";

    /// Whether persistent topics are served.
    "enablePersistentTopics" => persistent: bool as Switch = "true";

    /// Whether non-persistent topics are served.
    "enableNonPersistentTopics" => non_persistent: bool as Switch = "true";

    /// Whether a topic is made when a producer or consumer names one that is not there.
    "allowAutoTopicCreation" => auto_create: bool as Switch = "true", dynamic;

    /// What kind of topic is made then.
    "allowAutoTopicCreationType" => auto_create_type: TopicType as TopicType = "non-partitioned", dynamic;

    /// Partitions of a partitioned topic that is made then.
    "defaultNumPartitions" => default_partitions: u32 as Count[1..=100_000] = "1", dynamic;

    /// How many partitions a partitioned topic may have.
    "maxNumPartitionsPerPartitionedTopic" => max_partitions: Option<u32> as OrNone<Count> = "0", dynamic;

    /// Whether a subscription is made when a consumer names one that is not there.
    "allowAutoSubscriptionCreation" => auto_create_subscription: bool as Switch = "true", dynamic;

    /// Whether a topic can have policies of its own.
    "topicLevelPoliciesEnabled" => topic_policies: bool as Switch = "true";

    /// How many producers a topic may have.
    "maxProducersPerTopic" => max_producers: Option<u32> as OrNone<Count> = "0";

    /// How many consumers a topic may have.
    "maxConsumersPerTopic" => max_consumers: Option<u32> as OrNone<Count> = "0";

    /// How many subscriptions a topic may have.
    "maxSubscriptionsPerTopic" => max_subscriptions: Option<u32> as OrNone<Count> = "0";

    /// How many consumers a subscription may have.
    "maxConsumersPerSubscription" => max_consumers_per_subscription: Option<u32> as OrNone<Count> = "0";

    /// Whether every producer must encrypt what it publishes.
    "encryptionRequireOnProducer" => encryption_required: bool as Switch = "false";

    /// Whether inactive topics are deleted.
    "brokerDeleteInactiveTopicsEnabled" => delete_inactive: bool as Switch = "true", dynamic;

    /// How often inactive topics are looked for.
    "brokerDeleteInactiveTopicsFrequencySeconds" => delete_inactive_interval: Duration as Seconds[1..=31_536_000]
        = "60", dynamic;

    /// When a topic without producers and consumers counts as inactive.
    "brokerDeleteInactiveTopicsMode" => delete_inactive_mode: InactiveTopicMode as InactiveTopicMode
        = "delete_when_no_subscriptions", dynamic;

    /// How long a topic stays inactive before it is deleted. None: brokerDeleteInactiveTopicsFrequencySeconds.
    "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds" => delete_inactive_after: Option<Duration>
        as OrNone<Seconds> = "", dynamic;

    /// Whether a producer without a schema is refused where the topic has one.
    "isSchemaValidationEnforced" => enforce_schema: bool as Switch = "false";

    /// Whether topics are chosen by a consumer's pattern here, instead of sending the whole list to the client.
    "enableBrokerSideSubscriptionPatternEvaluation" => match_patterns: bool as Switch = "true";

    /// Longest pattern that is matched here.
    "subscriptionPatternMaxLength" => max_pattern_length: u32 as Count[0..=100_000] = "50";

    /// Which schema may follow which, where the namespace does not say.
    "schemaCompatibilityStrategy" => schema_compatibility: SchemaStrategy as SchemaStrategy = "FULL";
}
