//! What can go wrong with a log.

use std::sync::Arc;

use plerion_ledger::{AppendError, Epoch};
use plerion_subscription::Position;

/// Why an operation on a log or on a state log failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// There is no such topic, and it was not to be created.
    #[error("there is no log at {path}")]
    NoLog {
        /// The path of its row.
        path: Arc<str>,
    },
    /// The topic has no such durable cursor.
    #[error("log {path} has no cursor {cursor:?}")]
    NoCursor {
        /// The path of the topic's row.
        path: Arc<str>,
        /// The cursor asked for.
        cursor: String,
    },
    /// The topic has a durable cursor of that name.
    #[error("log {path} has a cursor {cursor:?} already")]
    CursorExists {
        /// The path of the topic's row.
        path: Arc<str>,
        /// The cursor's name.
        cursor: String,
    },
    /// Somebody else has written the row: this handle is of no more use, whoever owns the topic opens it anew.
    #[error("row {path} was changed by another owner")]
    Fenced {
        /// The path of the row.
        path: Arc<str>,
    },
    /// The row belongs to a later owner.
    #[error("row {path} is owned by epoch {stored:?}, this owner's epoch is {own:?}")]
    StaleOwner {
        /// The path of the row.
        path: Arc<str>,
        /// The epoch found.
        stored: Epoch,
        /// The epoch of the caller.
        own: Epoch,
    },
    /// A stored row, snapshot or record cannot be understood.
    #[error("stored state of {path} is corrupt: {why}")]
    Corrupt {
        /// The path of the row it belongs to.
        path: Arc<str>,
        /// What is wrong with it.
        why: Arc<str>,
    },
    /// The metadata store failed.
    #[error(transparent)]
    Metadata(#[from] plerion_metadata::Error),
    /// The ledger store failed.
    #[error(transparent)]
    Ledger(#[from] plerion_ledger::Error),
    /// An append to the open ledger failed; nothing after the last confirmed entry will be confirmed.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Reading stored state back failed.
    #[error(transparent)]
    Read(#[from] plerion_ledger::ReadError),
    /// The bundle's state log failed: all topics of the bundle are to be closed and opened again with it.
    #[error("the state log of the bundle failed: {0}")]
    StateLog(Arc<Error>),
    /// The topic is being opened or is open already.
    #[error("log {path} is open already")]
    AlreadyOpen {
        /// The path of its row.
        path: Arc<str>,
    },
    /// The topic was terminated.
    #[error("log was terminated at {0}")]
    Terminated(Position),
    /// The handle was closed by its owner.
    #[error("log is closed")]
    Closed,
}

impl Error {
    /// Whether the same owner may succeed later, with the log opened anew if it had failed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Metadata(error) => {
                error.is_retryable() || matches!(error, plerion_metadata::Error::UnknownOutcome { .. })
            }
            Self::Ledger(error) => error.is_retryable(),
            Self::Append(error) => error.is_retryable(),
            Self::Read(error) => error.is_retryable(),
            Self::StateLog(error) => error.is_retryable(),
            Self::AlreadyOpen { .. } => true,
            Self::NoLog { .. }
            | Self::NoCursor { .. }
            | Self::CursorExists { .. }
            | Self::Fenced { .. }
            | Self::StaleOwner { .. }
            | Self::Corrupt { .. }
            | Self::Terminated(_)
            | Self::Closed => false,
        }
    }

    /// Whether another owner has taken over.
    pub fn is_fenced(&self) -> bool {
        match self {
            Self::Fenced { .. }
            | Self::StaleOwner { .. }
            | Self::Append(AppendError::Fenced { .. })
            | Self::Ledger(plerion_ledger::Error::Fenced { .. })
            | Self::Ledger(plerion_ledger::Error::Append(AppendError::Fenced { .. })) => true,
            Self::StateLog(error) => error.is_fenced(),
            _ => false,
        }
    }
}

/// Why an append was not taken. Nothing was enqueued, and nothing will be until the log is opened anew: appends never
/// change their order by one being refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendRefused {
    /// The topic takes no more messages.
    #[error("log was terminated at {0}")]
    Terminated(Position),
    /// The log failed, was fenced or closed. Its sink is told too, after what was under way is resolved.
    #[error("log takes no appends: {0}")]
    Failed(Error),
}

/// Why a read failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("entry {position} cannot be read: {cause}")]
pub struct ReadFailure {
    /// The first entry that cannot be read.
    pub position: Position,
    /// Where reading may go on if that entry, or its whole ledger if that is gone, is passed over.
    pub resume: Position,
    /// What the ledger store said.
    pub cause: plerion_ledger::ReadError,
}

impl ReadFailure {
    /// Whether the same read may succeed later. If not, the data is lost: the caller may pass over it.
    pub fn is_retryable(&self) -> bool {
        self.cause.is_retryable()
    }
}
