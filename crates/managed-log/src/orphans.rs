//! Ledgers that nobody names: a crash came between making one and writing the row that was to name it.
//!
//! Only rows name ledgers; what a state log holds never does. A ledger is named, if ever, by the process that made it. So
//! one that was there before the process which now has both stores to itself began, and that no row names after that,
//! never will be named.

use std::collections::BTreeSet;
use std::sync::Arc;

use plerion_ledger::{LedgerId, LedgerStore};
use plerion_metadata::MetadataStore;

use crate::Error;
use crate::row::{BundleRow, State, Stored, TopicRow};

/// How many rows are read at a time.
const PAGE: usize = 256;

/// The ledgers that were there before anything was opened.
#[derive(Clone, Debug)]
pub struct Remains(Vec<LedgerId>);

impl Remains {
    /// Takes stock of `store`. To be called before any log is opened or made.
    ///
    /// # Errors
    /// What the store says.
    pub async fn of(store: &dyn LedgerStore) -> Result<Self, Error> {
        Ok(Self(store.list().await?))
    }

    /// Deletes those of the ledgers that no row below `topics` and `bundles` names; returns which. Logs may be open and
    /// made meanwhile, but nobody else may use the stores. Beside metadata without any such row nothing is deleted: they are
    /// not those of these ledgers. `pause` is awaited after each page of rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a row cannot be understood, which may name any of them: nothing is deleted then. What the
    /// stores say.
    pub async fn sweep(
        self,
        store: &dyn LedgerStore,
        metadata: &dyn MetadataStore,
        topics: &str,
        bundles: &str,
        pause: impl AsyncFn(),
    ) -> Result<Vec<LedgerId>, Error> {
        let mut orphans: BTreeSet<_> = self.0.into_iter().collect();
        let mut rows = 0;
        each::<BundleRow>(metadata, bundles, &pause, |row| {
            rows += 1;
            row.ledgers.iter().chain(&row.doomed).for_each(|id| {
                orphans.remove(id);
            });
        })
        .await?;
        each::<TopicRow>(metadata, topics, &pause, |row| {
            rows += 1;
            row.ledgers.iter().map(|ledger| &ledger.id).chain(&row.doomed).for_each(|id| {
                orphans.remove(id);
            });
            if let State::Ledger(id) = row.checkpoint.state {
                orphans.remove(&id);
            }
        })
        .await?;
        if rows == 0 {
            return Ok(Vec::new());
        }
        for orphan in &orphans {
            store.delete(*orphan).await?;
        }
        Ok(orphans.into_iter().collect())
    }
}

/// Reads every row below `root`.
async fn each<T: Stored>(
    metadata: &dyn MetadataStore,
    root: &str,
    pause: &impl AsyncFn(),
    mut visit: impl FnMut(&T),
) -> Result<(), Error> {
    let mut after: Option<String> = None;
    loop {
        let page = metadata.scan(root, after.as_deref(), PAGE).await?;
        let read = page.len();
        for (path, record) in page {
            // Rows without a value only hold the rows below them.
            if !record.value.is_empty() {
                let row = T::decode(record.value);
                visit(&row.map_err(|why| Error::Corrupt {
                    path: Arc::from(&*path),
                    why: Arc::from(format!("the row: {why}")),
                })?);
            }
            after = Some(path);
        }
        if read < PAGE {
            return Ok(());
        }
        pause().await;
    }
}
