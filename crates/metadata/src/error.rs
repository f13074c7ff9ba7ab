//! What can go wrong with a metadata operation.

use crate::Expect;

/// The result of a metadata operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a metadata operation did not do what was asked.
///
/// Except for [`Error::UnknownOutcome`], an error means that nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The row is not at the version the caller decided on: read it again and decide anew.
    #[error("{path} was expected at {expected} but {}", found_text(*found))]
    BadVersion {
        /// The row's path.
        path: String,
        /// What the caller expected.
        expected: Expect,
        /// The version found, or `None` if there is no such row.
        found: Option<u64>,
    },
    /// There is no row to delete.
    #[error("there is no row at {path}")]
    NotFound {
        /// The path asked for.
        path: String,
    },
    /// A row that was to be created exists.
    #[error("a row exists at {path}")]
    AlreadyExists {
        /// The row's path.
        path: String,
    },
    /// A row with rows below it cannot be deleted: delete those first.
    #[error("{path} has rows below it; delete those first")]
    NotEmpty {
        /// The path of the row that stays.
        path: String,
    },
    /// The path is not of the form `/a/b/c`.
    #[error("invalid metadata path {path:?}: {why}")]
    InvalidPath {
        /// The path as given.
        path: String,
        /// Which rule it breaks.
        why: &'static str,
    },
    /// The value is larger than every engine can hold.
    #[error("the value for {path} has {size} bytes; at most {} are allowed", crate::MAX_VALUE_BYTES)]
    ValueTooLarge {
        /// The row's path.
        path: String,
        /// Size of the refused value in bytes.
        size: usize,
    },
    /// The store cannot answer now; nothing was changed and a retry makes sense.
    #[error("the metadata store is unavailable: {why}")]
    Unavailable {
        /// The cause as the engine tells it.
        why: String,
    },
    /// The write may or may not have happened: read the row back before deciding anything.
    #[error("it is unknown whether the write to {path} happened ({why}); read it back")]
    UnknownOutcome {
        /// The path written to.
        path: String,
        /// The cause as the engine tells it.
        why: String,
    },
    /// The store was closed by its owner.
    #[error("the metadata store is closed")]
    Closed,
    /// A stored row cannot be understood.
    #[error("the stored row at {path} is corrupt: {why}")]
    Corrupt {
        /// The row's path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Error {
    /// Whether the same call may succeed later without the caller deciding anything anew.
    ///
    /// [`Error::UnknownOutcome`] is not among them: repeating a write that may have happened can undo what others
    /// built on it.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Whether a compare-and-set lost: the row is not as the caller expected it.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::BadVersion { .. } | Self::AlreadyExists { .. })
    }

    /// The row for whose sake a write was refused.
    pub(crate) fn refused_row(&self) -> Option<&str> {
        match self {
            Self::BadVersion { path, .. }
            | Self::NotFound { path }
            | Self::AlreadyExists { path }
            | Self::NotEmpty { path } => Some(path),
            _ => None,
        }
    }

    pub(crate) fn unavailable(why: impl std::fmt::Display) -> Self {
        Self::Unavailable { why: why.to_string() }
    }
}

fn found_text(found: Option<u64>) -> String {
    found.map_or_else(|| "does not exist".to_owned(), |version| format!("is at version {version}"))
}
