//! Numbers of new ledgers.
//!
//! A number is what the store appends to a sequential row. When those no longer fit 31 bits, rows below a counter of
//! their high half go on.

use bytes::Bytes;
use plerion_ledger::LedgerId;
use plerion_metadata::{self as metadata, Expect, PutOptions};

use super::{Directory, DirectoryError};

const LARGEST_SHORT: u64 = 0x7fff_fffe;
const LARGEST_HIGH: u64 = 0x7fff_ffff;

impl Directory {
    /// A number that no other ledger has or will have.
    pub(super) async fn next_id(&self) -> Result<LedgerId, DirectoryError> {
        let long = self.at("idgen-long");
        if !self.store.exists(&long).await? && self.store.children_page(&long, None, 1).await?.is_empty() {
            if let Some(id) = self.sequential(&self.at("idgen/ID-")).await?.filter(|id| *id <= LARGEST_SHORT) {
                return Ok(LedgerId(id));
            }
            self.put_if_absent(&long).await?;
        }
        loop {
            let high = match self.high_half(&long).await? {
                Some(high) => high,
                None => {
                    self.put_if_absent(&high_path(&long, 1)).await?;
                    continue;
                }
            };
            let low = self.sequential(&format!("{}/ID-", high_path(&long, high))).await?;
            if let Some(low) = low.filter(|low| *low <= LARGEST_SHORT) {
                return Ok(LedgerId(high << 32 | low));
            }
            if high >= LARGEST_HIGH {
                return Err(DirectoryError::Exhausted);
            }
            self.put_if_absent(&high_path(&long, high + 1)).await?;
        }
    }

    async fn high_half(&self, long: &str) -> Result<Option<u64>, DirectoryError> {
        let names = self.store.children(long).await?;
        Ok(names.iter().filter_map(|name| name.strip_prefix("HOB-")?.parse().ok()).max())
    }

    /// The number the store gives to a row made for that alone; `None` if its counter is exhausted.
    async fn sequential(&self, prefix: &str) -> Result<Option<u64>, DirectoryError> {
        let options = PutOptions { ephemeral: true, ..PutOptions::SEQUENTIAL };
        let made = loop {
            match self.store.put(prefix, Bytes::new(), Expect::Absent, options).await {
                Ok(made) => break made.path,
                // If it was made it goes with the session; its number stays unused.
                Err(metadata::Error::UnknownOutcome { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        };
        // The row has served its purpose; one that stays goes with the session.
        let _ = self.store.delete(&made, Expect::Any).await;
        let number = made.strip_prefix(prefix).unwrap_or_default();
        if number.starts_with('-') {
            return Ok(None);
        }
        number.parse().map(Some).map_err(|_| DirectoryError::Sequence(made.clone()))
    }

    async fn put_if_absent(&self, path: &str) -> Result<(), DirectoryError> {
        match self.store.put(path, Bytes::new(), Expect::Absent, PutOptions::PERSISTENT).await {
            Ok(_) | Err(metadata::Error::AlreadyExists { .. } | metadata::Error::UnknownOutcome { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn high_path(long: &str, high: u64) -> String {
    format!("{long}/HOB-{high:010}")
}
