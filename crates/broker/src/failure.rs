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
    /// What the request is in conflict with, where that is known.
    pub conflict: Option<Conflict>,
}

/// What a request is in conflict with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// What was to be made is there.
    Exists,
    /// What was to be removed is in use.
    Busy,
}

impl Failure {
    /// A failure with this code and text.
    pub fn new(code: ServerError, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), conflict: None }
    }

    /// The client may try again at once, with a fresh lookup.
    pub fn not_ready(message: impl Into<String>) -> Self {
        Self::new(ServerError::ServiceNotReady, message)
    }

    /// There is no such topic, or no namespace for it.
    pub fn no_topic(message: impl Into<String>) -> Self {
        Self::new(ServerError::TopicNotFound, message)
    }

    /// There is no such subscription.
    pub fn no_subscription(name: &str) -> Self {
        Self::new(ServerError::SubscriptionNotFound, format!("Subscription {name} not found"))
    }

    /// It is there already.
    pub fn exists(message: impl Into<String>) -> Self {
        Self { conflict: Some(Conflict::Exists), ..Self::new(ServerError::MetadataError, message) }
    }

    /// Somebody uses it.
    pub fn busy(message: impl Into<String>) -> Self {
        Self { conflict: Some(Conflict::Busy), ..Self::new(ServerError::ConsumerBusy, message) }
    }

    /// Whether it says that a topic is not there.
    pub fn is_absence(&self) -> bool {
        self.code == ServerError::TopicNotFound
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
        let conflict = match &error {
            plerion_topic::Error::InUse { .. } | plerion_topic::Error::SubscriptionInUse => Some(Conflict::Busy),
            plerion_topic::Error::SubscriptionExists(_) => Some(Conflict::Exists),
            _ => None,
        };
        Self { conflict, ..Self::new(error.server_error(), error.to_string()) }
    }
}

impl From<plerion_metadata::Error> for Failure {
    fn from(error: plerion_metadata::Error) -> Self {
        Self::new(ServerError::MetadataError, error.to_string())
    }
}

impl From<plerion_resources::Error> for Failure {
    fn from(error: plerion_resources::Error) -> Self {
        use plerion_resources::Error;
        let message = error.to_string();
        match error {
            Error::NotFound { .. } => Self::no_topic(message),
            Error::AlreadyExists { .. } => Self::exists(message),
            Error::NotEmpty { .. } => Self::busy(message),
            Error::Invalid { .. } => Self::not_allowed(message),
            Error::Unavailable { .. } | Error::Conflict { .. } => Self::not_ready(message),
            Error::UnknownOutcome { .. } | Error::Corrupt { .. } => Self::new(ServerError::MetadataError, message),
        }
    }
}

impl From<plerion_resources::names::InvalidName> for Failure {
    fn from(error: plerion_resources::names::InvalidName) -> Self {
        Self::new(ServerError::InvalidTopicName, error.to_string())
    }
}
