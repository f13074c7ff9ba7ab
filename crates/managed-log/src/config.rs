//! How logs roll and what they keep.

use std::time::Duration;

/// Settings of the logs of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Entries after which a ledger counts as full (`managedLedgerMaxEntriesPerLedger`).
    pub max_entries_per_ledger: u64,
    /// Bytes after which a ledger counts as full (`managedLedgerMaxSizePerLedgerMbytes`).
    pub max_bytes_per_ledger: u64,
    /// A full ledger younger than this is not rolled (`managedLedgerMinLedgerRolloverTimeMinutes`).
    pub min_rollover: Duration,
    /// A ledger older than this is rolled although it is not full (`managedLedgerMaxLedgerRolloverTimeMinutes`).
    pub max_rollover: Duration,
    /// An open ledger of at least so many bytes, all of them consumed, is sealed by a trim so that its space comes
    /// back at once.
    pub idle_seal_bytes: u64,
    /// How many bytes of appends may wait while a ledger is being made.
    pub max_waiting_bytes: usize,
    /// Whether reads pass over entries that are lost for good (`autoSkipNonRecoverableData`).
    pub skip_unreadable: bool,
    /// Bytes after which a bundle's state log is compacted into the rows of its topics.
    pub state_log_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_entries_per_ledger: 50_000,
            max_bytes_per_ledger: 2048 << 20,
            min_rollover: Duration::from_secs(10 * 60),
            max_rollover: Duration::from_secs(240 * 60),
            idle_seal_bytes: 64 << 20,
            max_waiting_bytes: 16 << 20,
            skip_unreadable: false,
            state_log_bytes: 32 << 20,
        }
    }
}

/// How much of a topic is kept although every cursor has passed it. Negative values mean: without limit. What exceeds
/// either limit goes, as in Pulsar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How long a ledger is kept after it was sealed, in minutes (`retentionTimeInMinutes`).
    pub minutes: i64,
    /// How large the topic may be, in MiB (`retentionSizeInMB`).
    pub megabytes: i64,
}

impl Retention {
    /// Nothing is kept that every cursor has passed.
    pub const NONE: Self = Self { minutes: 0, megabytes: 0 };
    /// Everything is kept.
    pub const FOREVER: Self = Self { minutes: -1, megabytes: -1 };
}
