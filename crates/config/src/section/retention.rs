//! How long messages stay.

use std::time::Duration;

use crate::key::declare;
use crate::kind::number::{Megabytes, Minutes, OrNone, Seconds, Signed};

declare! {
    /// How long messages stay.
    pub struct Retention, "Retention and expiry";

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
}
