//! What the logs of a bundle stand on.

use std::rc::Rc;
use std::sync::Arc;

use plerion_clock::SharedClock;
use plerion_ledger::LedgerStore;
use plerion_metadata::MetadataStore;

use crate::Config;

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
