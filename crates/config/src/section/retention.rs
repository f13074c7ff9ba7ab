//! How long messages stay, and how much backlog there may be.

use std::time::Duration;

use crate::key::declare;
use crate::kind::Switch;
use crate::kind::choice::BacklogPolicy;
use crate::kind::number::{Bytes, Gigabytes, Megabytes, Minutes, OrNone, Seconds, Signed};

declare! {
    /// How long messages stay, and how much backlog there may be.
    pub struct Retention, "Retention, expiry and backlog";

    /// How long messages stay that every subscription has acknowledged. 0: not at all, -1: for ever.
    "defaultRetentionTimeInMinutes" => retention_minutes: i64 as Signed<Minutes>[-1..=2_147_483_647] = "0";

    /// How much of such messages stays in a topic. 0: nothing, -1: all.
    "defaultRetentionSizeInMB" => retention_size_mb: i64 as Signed<Megabytes>[-1..=2_147_483_647] = "0";

    /// How often topics are checked for what need not stay.
    "retentionCheckIntervalInSeconds" => retention_interval: Duration as Seconds[1..=86_400] = "120";

    /// Age at which a message counts as acknowledged. None: it does not expire.
    "ttlDurationDefaultInSeconds" => message_ttl: Option<Duration> as OrNone<Seconds> = "0";

    /// How often topics are checked for expired messages.
    "messageExpiryCheckIntervalInMinutes" => expiry_interval: Duration as Minutes[1..=525_600] = "5";

    /// Whether backlog quotas are enforced.
    "backlogQuotaCheckEnabled" => backlog_check: bool as Switch = "true";

    /// How often backlogs are compared with their quotas.
    "backlogQuotaCheckIntervalInSeconds" => backlog_interval: Duration as Seconds[1..=86_400] = "60";

    /// Backlog a topic may have; goes before backlogQuotaDefaultLimitBytes.
    "backlogQuotaDefaultLimitGB" => backlog_limit_gb: Option<u64> as Gigabytes = "-1";

    /// Backlog a topic may have.
    "backlogQuotaDefaultLimitBytes" => backlog_limit_bytes: Option<u64> as OrNone<Bytes> = "-1";

    /// Age the oldest message of a backlog may have.
    "backlogQuotaDefaultLimitSecond" => backlog_limit_age: Option<Duration> as OrNone<Seconds> = "-1";

    /// Whether that age is read from the message itself, else from the time its ledger was closed.
    "preciseTimeBasedBacklogQuotaCheck" => backlog_precise_age: bool as Switch = "false";

    /// What happens when a backlog exceeds its quota.
    "backlogQuotaDefaultRetentionPolicy" => backlog_policy: BacklogPolicy as BacklogPolicy = "producer_request_hold";
}

impl Retention {
    /// The backlog a topic may have, in bytes, where no policy says.
    pub fn backlog_limit(&self) -> Option<u64> {
        self.backlog_limit_gb.or(self.backlog_limit_bytes)
    }
}
