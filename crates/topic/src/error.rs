//! Why a topic does not do what a client asks.

use plerion_managed_log::ReadFailure;
use plerion_subscription::{Position, cursor, dispatcher, producers};
use plerion_wire::ServerError;

use crate::ConnectionId;

/// Why a topic does not do what a client asks.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// There is no such topic, and it was not to be made.
    #[error("Topic {0} does not exist")]
    NotFound(String),
    /// It is being closed or unloaded: a fresh lookup finds where it is served next.
    #[error("Topic {0} is temporarily unavailable")]
    NotServing(String),
    /// It took too long to end: its store does not answer. What it was doing goes on without it.
    #[error("Topic {0} is still being closed, its store does not answer")]
    Stuck(String),
    /// Its log has failed; publishing works again once that is over.
    #[error("Topic {topic} takes no messages at present: {why}")]
    NotWritable {
        /// The topic.
        topic: String,
        /// What the log said.
        why: String,
    },
    /// It takes no more messages, for good.
    #[error("Topic was already terminated at {0}")]
    Terminated(Position),
    /// The rules do not let the producer in.
    #[error("{refusal}")]
    ProducerRefused {
        /// Why.
        refusal: producers::Refusal,
        /// The connection of whoever stands in the way; worth a ping before the answer.
        holder: Option<ConnectionId>,
    },
    /// The rules do not let the consumer in.
    #[error("{refusal}")]
    ConsumerRefused {
        /// Why.
        refusal: dispatcher::Refusal,
        /// The connection of whoever stands in the way; worth a ping before the answer.
        holder: Option<ConnectionId>,
    },
    /// There is no such subscription, and it was not to be made.
    #[error("Subscription {0} does not exist")]
    NoSubscription(String),
    /// A subscription of that name exists.
    #[error("Subscription {0} already exists for topic")]
    SubscriptionExists(String),
    /// The subscription is being moved.
    #[error("Subscription is fenced")]
    SubscriptionFenced,
    /// Others use the subscription.
    #[error("Unconnected or shared consumer attempting to unsubscribe")]
    SubscriptionInUse,
    /// Somebody uses the topic.
    #[error("Topic has {producers} producers and {consumers} consumers connected")]
    InUse {
        /// Attached producers.
        producers: usize,
        /// Attached consumers.
        consumers: usize,
    },
    /// What is asked for is against the rules.
    #[error("{0}")]
    NotAllowed(String),
    /// A limit is reached.
    #[error("{0}")]
    TooMany(String),
    /// A stored cursor cannot be understood.
    #[error("cursor {cursor} of topic {topic} is corrupt: {cause}")]
    CorruptCursor {
        /// The topic.
        topic: String,
        /// The cursor.
        cursor: String,
        /// What is wrong with it.
        cause: cursor::Error,
    },
    /// The log failed.
    #[error(transparent)]
    Log(plerion_managed_log::Error),
    /// Reading the log failed.
    #[error(transparent)]
    Read(#[from] ReadFailure),
}

impl From<plerion_managed_log::Error> for Error {
    fn from(error: plerion_managed_log::Error) -> Self {
        match error {
            plerion_managed_log::Error::NoLog { path } => Self::NotFound(path.to_string()),
            plerion_managed_log::Error::Terminated(at) => Self::Terminated(at),
            error => Self::Log(error),
        }
    }
}

impl Error {
    /// The code a client is sent.
    pub fn server_error(&self) -> ServerError {
        match self {
            Self::NotFound(_) => ServerError::TopicNotFound,
            Self::NotServing(_) | Self::Stuck(_) | Self::SubscriptionFenced => ServerError::ServiceNotReady,
            Self::NotWritable { .. } | Self::CorruptCursor { .. } | Self::Read(_) => ServerError::PersistenceError,
            Self::Terminated(_) => ServerError::TopicTerminatedError,
            Self::ProducerRefused { refusal, .. } => match refusal.code() {
                producers::Code::ProducerBusy => ServerError::ProducerBusy,
                producers::Code::ProducerFenced => ServerError::ProducerFenced,
            },
            Self::ConsumerRefused { refusal, .. } => match refusal.code() {
                dispatcher::Code::ConsumerBusy => ServerError::ConsumerBusy,
                dispatcher::Code::ConsumerAssign => ServerError::ConsumerAssignError,
                dispatcher::Code::NotAllowed => ServerError::NotAllowedError,
            },
            Self::NoSubscription(_) => ServerError::SubscriptionNotFound,
            Self::SubscriptionInUse => ServerError::MetadataError,
            Self::SubscriptionExists(_) | Self::TooMany(_) | Self::InUse { .. } => ServerError::ConsumerBusy,
            Self::NotAllowed(_) => ServerError::NotAllowedError,
            Self::Log(error) if error.is_retryable() || error.is_fenced() => ServerError::ServiceNotReady,
            Self::Log(_) => ServerError::PersistenceError,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NotServing(_) | Self::Stuck(_) | Self::SubscriptionFenced | Self::NotWritable { .. } => true,
            Self::ProducerRefused { refusal, .. } => refusal.is_retryable(),
            Self::ConsumerRefused { refusal, .. } => refusal.is_retryable(),
            Self::Log(error) => error.is_retryable(),
            Self::Read(failure) => failure.is_retryable(),
            _ => false,
        }
    }

    /// The connection that may hold what was asked for although it is dead.
    pub fn holder(&self) -> Option<ConnectionId> {
        match self {
            Self::ProducerRefused { holder, .. } | Self::ConsumerRefused { holder, .. } => *holder,
            _ => None,
        }
    }
}
