//! A topic's log and the durable state around it.
//!
//! A [`ManagedLog`] is a topic's sequence of ledgers: it appends, rolls from ledger to ledger, reads across them,
//! finds positions, and deletes what nobody needs any more. A [`StateLog`] is shared by the topics of one bundle and
//! makes every change of their cursors and of their deduplication state durable, in the group commit of the
//! journal, without a ledger per cursor.
//!
//! What is promised:
//! - An entry whose append was confirmed is read at the same position by every later owner of the topic.
//! - Positions grow, also from owner to owner, and are never given twice.
//! - A change of a cursor whose flush resolved is found by the next owner.
//! - Every write of a topic's row is a compare-and-set; whoever loses one is fenced for good and says so.
//!
//! Everything lives on one shard: handles are `!Send`, futures are local, and background work (making a ledger,
//! rolling) runs as local tasks, so all calls must come from within a [`tokio::task::LocalSet`].

mod codec;
mod config;
mod context;
mod error;
mod log;
mod orphans;
mod retention;
mod row;
mod state_log;
mod tail;
mod topic_state;

pub use config::{Config, Retention};
pub use context::Context;
pub use error::{AppendRefused, Error, ReadFailure};
pub use log::{
    LogEntry, LogSink, LogStats, ManagedLog, OpenMode, Opened, ReadStatus, Reading, RecoveredCursor, SnapshotSource,
    Trimmed,
};
pub use orphans::Remains;
pub use row::{LedgerInfo, Properties};
pub use state_log::{Flush, StateLog, StateLogStats};
