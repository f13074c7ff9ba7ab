//! The data directory and what is in it.

use std::path::PathBuf;
use std::time::Duration;

use crate::key::declare;
use crate::kind::number::{Count, Megabytes, Minutes};
use crate::kind::{Directory, Switch};

declare! {
    /// The data directory and what is in it.
    pub struct Storage, "Storage";

    /// The directory that holds everything: messages, cursors and metadata.
    "dataDirectory" => data_directory: PathBuf as Directory = "./data";

    /// Journals, each with a thread of its own, that entries are written to side by side. More than one helps where
    /// the disk syncs several files at once.
    "storageJournals" => journals: u32 as Count[1..=64] = "1";

    /// Size of a journal's segments. The first of a new directory is smaller, so that the start is short.
    "storageSegmentSizeMB" => segment_size: u64 as Megabytes[16..=16_384] = "256";

    /// Memory that keeps the newest entries for consumers that are up to date.
    "managedLedgerCacheSizeMB" => cache_size: u64 as Megabytes[8..=1_048_576] = "128";

    /// Entries at which a topic goes on in a new ledger.
    "managedLedgerMaxEntriesPerLedger" => max_ledger_entries: u32 as Count[1..=2_147_483_647] = "50000";

    /// Size at which a topic goes on in a new ledger.
    "managedLedgerMaxSizePerLedgerMbytes" => max_ledger_size: u64 as Megabytes[1..=1_048_576] = "2048";

    /// Age a ledger has at least before a topic leaves it because of its entries or size.
    "managedLedgerMinLedgerRolloverTimeMinutes" => min_ledger_age: Duration as Minutes[0..=525_600] = "10";

    /// Age at which a topic goes on in a new ledger in any case.
    "managedLedgerMaxLedgerRolloverTimeMinutes" => max_ledger_age: Duration as Minutes[1..=525_600] = "240";

    /// Whether an entry that cannot be read is skipped, else it holds its subscriptions up.
    "autoSkipNonRecoverableData" => skip_unreadable: bool as Switch = "false", dynamic;
}

impl Storage {
    /// What contradicts what.
    pub(crate) fn conflicts(&self, conflicts: &mut Vec<String>) {
        if self.min_ledger_age > self.max_ledger_age {
            conflicts.push(
                "managedLedgerMinLedgerRolloverTimeMinutes is greater than managedLedgerMaxLedgerRolloverTimeMinutes: \
                 it must be less or equal"
                    .into(),
            );
        }
    }
}
