//! How a request fails.

use plerion_wire::ServerError;

use crate::shard::Stopped;

/// Why a request was not done: the code a client acts on, and the text a person reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The protocol's code. A definite failure never carries `UnknownError` or `MetadataError`: clients would retry it
    /// for half a minute.
    pub code: ServerError,
    /// What was wrong, and what would be right.
    pub message: String,
}

impl Failure {
    /// A failure with this code and text.
    pub fn new(code: ServerError, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The client may try again at once, with a fresh lookup.
    pub fn not_ready(message: impl Into<String>) -> Self {
        Self::new(ServerError::ServiceNotReady, message)
    }

    /// There is no such topic, or no namespace for it.
    pub fn no_topic(message: impl Into<String>) -> Self {
        Self::new(ServerError::TopicNotFound, message)
    }

    /// The request is against the rules in force.
    pub fn not_allowed(message: impl Into<String>) -> Self {
        Self::new(ServerError::NotAllowedError, message)
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        Self::not_ready(stopped.to_string())
    }
}

impl From<plerion_topic::Error> for Failure {
    fn from(error: plerion_topic::Error) -> Self {
        Self::new(error.server_error(), error.to_string())
    }
}
