//! What can go wrong with a ledger.

use std::sync::Arc;

use crate::{Epoch, LedgerId};

/// Why an append was refused or not acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// Another owner has taken the ledger over.
    #[error("ledger {ledger} was fenced by epoch {by:?}")]
    Fenced {
        /// The ledger.
        ledger: LedgerId,
        /// The epoch that fenced it.
        by: Epoch,
    },
    /// The ledger is sealed.
    #[error("ledger {0} is closed")]
    Closed(LedgerId),
    /// The store cannot take more at present (disk full, say); nothing was stored. Worth a retry later.
    #[error("ledger store refuses appends: {0}")]
    Unavailable(Arc<str>),
    /// Writing or syncing failed: the entry may or may not be found by the ledger's next owner.
    #[error("append to ledger {ledger} failed, its outcome is open: {cause}")]
    Indeterminate {
        /// The ledger.
        ledger: LedgerId,
        /// What the disk or the replicas said.
        cause: Arc<str>,
    },
}

/// Why a read failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// No such ledger.
    #[error("ledger {0} does not exist")]
    NoLedger(LedgerId),
    /// The ledger has no such entry.
    #[error("ledger {ledger} has no entry {entry}")]
    NoEntry {
        /// The ledger.
        ledger: LedgerId,
        /// The entry asked for.
        entry: u64,
    },
    /// The stored bytes do not match their checksum.
    #[error("entry {entry} of ledger {ledger} is corrupt in {place}")]
    Corrupt {
        /// The ledger.
        ledger: LedgerId,
        /// The entry.
        entry: u64,
        /// File and offset.
        place: Arc<str>,
    },
    /// The disk failed.
    #[error("reading ledger {ledger} failed: {cause}")]
    Io {
        /// The ledger.
        ledger: LedgerId,
        /// What the disk said.
        cause: Arc<str>,
    },
}

/// Why creating, recovering, sealing, deleting or listing failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// No such ledger.
    #[error("ledger {0} does not exist")]
    NoLedger(LedgerId),
    /// A greater epoch owns the ledger.
    #[error("ledger {ledger} is owned by epoch {by:?}")]
    Fenced {
        /// The ledger.
        ledger: LedgerId,
        /// The epoch that owns it.
        by: Epoch,
    },
    /// An append failed.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The store cannot do this at present; worth a retry.
    #[error("ledger store is unavailable: {0}")]
    Unavailable(Arc<str>),
    /// The disk failed.
    #[error("ledger store failed: {0}")]
    Io(Arc<str>),
}

impl AppendError {
    /// Whether the same append may succeed later on a new ledger of the same owner.
    pub fn is_retryable(&self) -> bool {
        !matches!(self, Self::Fenced { .. })
    }
}

impl ReadError {
    /// Whether the same read may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

impl Error {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NoLedger(_) | Self::Fenced { .. } => false,
            Self::Append(error) => error.is_retryable(),
            Self::Unavailable(_) | Self::Io(_) => true,
        }
    }
}
