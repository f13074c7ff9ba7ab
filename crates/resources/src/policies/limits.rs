//! Parts of policies that namespaces and topics share.

use serde::{Deserialize, Serialize};

/// How long consumed messages are kept: while either limit is not reached. -1 is no limit; zero in both keeps nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// Minutes.
    #[serde(rename = "retentionTimeInMinutes")]
    pub time_minutes: i32,
    /// Mebibytes.
    #[serde(rename = "retentionSizeInMB")]
    pub size_mb: i64,
}

/// How much a topic's unconsumed messages may be, and what happens beyond.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacklogQuota {
    /// Bytes; -1 for no limit.
    #[serde(rename = "limitSize", alias = "limit", default = "no_limit")]
    pub limit_size: i64,
    /// Seconds; -1 for no limit.
    #[serde(rename = "limitTime", default = "no_limit")]
    pub limit_time: i64,
    /// `producer_request_hold`, `producer_exception` or `consumer_backlog_eviction`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

fn no_limit() -> i64 {
    -1
}

/// How fast messages are dispatched; -1 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DispatchRate {
    /// Messages a period.
    #[serde(rename = "dispatchThrottlingRateInMsg")]
    pub messages: i32,
    /// Bytes a period.
    #[serde(rename = "dispatchThrottlingRateInByte")]
    pub bytes: i64,
    /// Whether the limits are added to the rate of publishing.
    pub relative_to_publish_rate: bool,
    /// Length of a period in seconds.
    pub rate_period_in_second: i32,
}

impl Default for DispatchRate {
    fn default() -> Self {
        Self { messages: -1, bytes: -1, relative_to_publish_rate: false, rate_period_in_second: 1 }
    }
}

/// How fast messages are accepted in a second; -1 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishRate {
    /// Messages.
    #[serde(rename = "publishThrottlingRateInMsg")]
    pub messages: i32,
    /// Bytes.
    #[serde(rename = "publishThrottlingRateInByte")]
    pub bytes: i64,
}

impl Default for PublishRate {
    fn default() -> Self {
        Self { messages: -1, bytes: -1 }
    }
}

/// How often a consumer may subscribe; -1 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubscribeRate {
    /// Subscribes of one consumer in a period.
    pub subscribe_throttling_rate_per_consumer: i32,
    /// Length of a period in seconds.
    pub rate_period_in_second: i32,
}

impl Default for SubscribeRate {
    fn default() -> Self {
        Self { subscribe_throttling_rate_per_consumer: -1, rate_period_in_second: 30 }
    }
}

/// How a topic's log is replicated and flushed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Persistence {
    /// Storage nodes a ledger is spread over.
    pub bookkeeper_ensemble: i32,
    /// Copies of an entry.
    pub bookkeeper_write_quorum: i32,
    /// Copies that make an entry durable.
    pub bookkeeper_ack_quorum: i32,
    /// Most cursor updates a second; 0 for no limit.
    pub managed_ledger_max_mark_delete_rate: f64,
}

impl Default for Persistence {
    fn default() -> Self {
        Self {
            bookkeeper_ensemble: 2,
            bookkeeper_write_quorum: 2,
            bookkeeper_ack_quorum: 2,
            managed_ledger_max_mark_delete_rate: 0.0,
        }
    }
}

/// Whether and how topics are created by their first use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoTopicCreation {
    /// Whether they are.
    pub allow_auto_topic_creation: bool,
    /// `partitioned` or `non-partitioned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_type: Option<String>,
    /// Partitions of a partitioned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_num_partitions: Option<u32>,
}

/// Whether subscriptions are created by their first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoSubscriptionCreation {
    /// Whether they are.
    pub allow_auto_subscription_creation: bool,
}

/// When unused topics are deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InactiveTopicPolicies {
    /// `delete_when_no_subscriptions` or `delete_when_subscriptions_caught_up`.
    pub inactive_topic_delete_mode: String,
    /// Seconds a topic must have been unused.
    pub max_inactive_duration_seconds: i32,
    /// Whether they are deleted at all.
    pub delete_while_inactive: bool,
}
