//! What can go wrong with a resource.

use crate::names::InvalidName;

/// The result of an operation on a resource.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on a resource did not do what was asked. Nothing was changed, except where it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such thing.
    #[error("{what} does not exist")]
    NotFound {
        /// What was asked for, as in `tenant public`.
        what: String,
    },
    /// What was to be created exists.
    #[error("{what} already exists")]
    AlreadyExists {
        /// What was to be created.
        what: String,
    },
    /// What was to be deleted still holds something.
    #[error("{what} is not empty: it has {holds}")]
    NotEmpty {
        /// What was to be deleted.
        what: String,
        /// What it still holds.
        holds: &'static str,
    },
    /// Others kept changing it meanwhile: read it again and decide anew.
    #[error("{what} was changed by others at the same time")]
    Conflict {
        /// What was to be changed.
        what: String,
    },
    /// The request breaks a rule.
    #[error("{why}")]
    Invalid {
        /// Which rule, and what would be right.
        why: String,
    },
    /// The metadata store cannot answer now.
    #[error("the metadata store is unavailable: {why}")]
    Unavailable {
        /// The cause as the store tells it.
        why: String,
    },
    /// It is not known whether the change happened: read it back.
    #[error("it is unknown whether {what} was changed")]
    UnknownOutcome {
        /// What was to be changed.
        what: String,
    },
    /// What is stored cannot be understood.
    #[error("the stored {what} cannot be read: {why}")]
    Corrupt {
        /// What was read.
        what: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    /// Whether the same call may succeed later without the caller changing anything.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Conflict { .. })
    }

    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid { why: why.into() }
    }

    pub(crate) fn not_found(what: impl ToString) -> Self {
        Self::NotFound { what: what.to_string() }
    }

    /// The store's error about `what`.
    pub(crate) fn of_store(error: plerion_metadata::Error, what: &str) -> Self {
        use plerion_metadata::Error as Store;
        let what = what.to_owned();
        match error {
            Store::NotFound { .. } => Self::NotFound { what },
            Store::AlreadyExists { .. } => Self::AlreadyExists { what },
            Store::NotEmpty { .. } => Self::NotEmpty { what, holds: "rows below it" },
            Store::BadVersion { .. } => Self::Conflict { what },
            Store::InvalidPath { .. } | Store::ValueTooLarge { .. } => Self::Invalid { why: error.to_string() },
            Store::Unavailable { why } => Self::Unavailable { why },
            Store::Closed => Self::Unavailable { why: error.to_string() },
            Store::UnknownOutcome { .. } => Self::UnknownOutcome { what },
            Store::Corrupt { why, .. } => Self::Corrupt { what, why: why.to_owned() },
        }
    }
}

impl From<InvalidName> for Error {
    fn from(error: InvalidName) -> Self {
        Self::Invalid { why: error.0 }
    }
}
