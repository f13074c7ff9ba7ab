//! What the logs of a bundle stand on.

use std::rc::Rc;
use std::sync::Arc;

use plerion_clock::SharedClock;
use plerion_ledger::{LedgerId, LedgerStore};
use plerion_metadata::MetadataStore;

use crate::{Config, Error};

/// The stores, the clock and the settings that the logs of one bundle share.
#[derive(Clone)]
pub struct Context {
    /// Where entries go.
    pub store: Rc<dyn LedgerStore>,
    /// Where rows go.
    pub metadata: Arc<dyn MetadataStore>,
    /// Wall time dates ledgers, monotonic time ages them.
    pub clock: SharedClock,
    /// How logs roll.
    pub config: Rc<Config>,
    /// Chooses the journal: logs with one key share a group commit.
    pub journal_key: u64,
}

impl Context {
    /// Deletes a ledger that was made for a row, unless the write of the row that names it happened or may have:
    /// nobody else could delete it.
    pub(crate) async fn keep_if_written(&self, ledger: LedgerId, written: &Result<(), Error>) {
        let lost = match written {
            Ok(()) | Err(Error::Metadata(plerion_metadata::Error::UnknownOutcome { .. })) => return,
            Err(_) => self.store.delete(ledger).await,
        };
        if let Err(error) = lost {
            tracing::warn!(%ledger, %error, "a ledger that nothing refers to could not be deleted");
        }
    }
}
