//! Recognising messages that a producer sends again.

use std::time::Duration;

use crate::key::declare;
use crate::kind::Switch;
use crate::kind::number::{Count, Minutes, OrNone, Seconds};

declare! {
    /// Recognising messages that a producer sends again.
    pub struct Deduplication, "Deduplication";

    /// Whether a message that was stored already is recognised, where namespace and topic do not say.
    "brokerDeduplicationEnabled" => enabled: bool as Switch = "false";

    /// Producers that are remembered for a topic; the one that published longest ago is forgotten.
    "brokerDeduplicationMaxNumberOfProducers" => max_producers: u32 as Count[1..=10_000_000] = "10000";

    /// Entries after which what is remembered is recorded.
    "brokerDeduplicationEntriesInterval" => snapshot_entries: u32 as Count[1..=10_000_000] = "1000";

    /// How often what is remembered is recorded when fewer entries come. None: it is not recorded by time.
    "brokerDeduplicationSnapshotIntervalSeconds" => snapshot_interval: Option<Duration> as OrNone<Seconds> = "120";

    /// How long a producer that has gone is remembered.
    "brokerDeduplicationProducerInactivityTimeoutMinutes" => forget_after: Duration as Minutes[1..=525_600] = "360";
}
