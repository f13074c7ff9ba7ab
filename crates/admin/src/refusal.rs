//! How a request is refused.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plerion_broker::{Conflict, Failure};
use plerion_resources::names::InvalidName;
use plerion_wire::ServerError;

/// Why a request was not done: a status, and a reason for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// 400: it cannot be read.
    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }

    /// 404.
    pub(crate) fn not_found(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, reason)
    }

    /// 405: this broker, or this kind of thing, does not do that.
    pub(crate) fn not_allowed(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, reason)
    }

    /// 409.
    pub(crate) fn conflict(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, reason)
    }

    /// 412: it can be read, but says something that cannot be.
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, reason)
    }

    /// 501: Pulsar has it, Plerion does not.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, format!("{what} is not supported by this broker"))
    }

    /// The same, with another reason where something was not found.
    pub(crate) fn or_not_found(self, reason: &str) -> Self {
        if self.status == StatusCode::NOT_FOUND { Self { reason: reason.to_owned(), ..self } } else { self }
    }

    /// The same, with another reason where it is there already.
    pub(crate) fn or_exists(self, reason: &str) -> Self {
        if self.status == StatusCode::CONFLICT { Self { reason: reason.to_owned(), ..self } } else { self }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(serde_json::json!({ "reason": self.reason }))).into_response()
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let status = match (failure.conflict, failure.code) {
            (Some(Conflict::Exists), _) => StatusCode::CONFLICT,
            (Some(Conflict::Busy), _) => StatusCode::PRECONDITION_FAILED,
            (None, ServerError::TopicNotFound | ServerError::SubscriptionNotFound | ServerError::ConsumerNotFound) => {
                StatusCode::NOT_FOUND
            }
            (None, ServerError::AuthenticationError | ServerError::AuthorizationError) => StatusCode::UNAUTHORIZED,
            (None, ServerError::InvalidTopicName | ServerError::ConsumerBusy | ServerError::ProducerBusy) => {
                StatusCode::PRECONDITION_FAILED
            }
            (None, ServerError::IncompatibleSchema) => StatusCode::CONFLICT,
            (None, ServerError::NotAllowedError | ServerError::TopicTerminatedError) => StatusCode::METHOD_NOT_ALLOWED,
            (None, ServerError::ServiceNotReady) => StatusCode::SERVICE_UNAVAILABLE,
            (None, ServerError::TooManyRequests) => StatusCode::TOO_MANY_REQUESTS,
            (None, _) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, failure.message)
    }
}

impl From<plerion_resources::Error> for Refusal {
    fn from(error: plerion_resources::Error) -> Self {
        use plerion_resources::Error;
        let status = match &error {
            Error::NotFound { .. } => StatusCode::NOT_FOUND,
            Error::AlreadyExists { .. } | Error::NotEmpty { .. } => StatusCode::CONFLICT,
            Error::Invalid { .. } => StatusCode::PRECONDITION_FAILED,
            Error::Unavailable { .. } | Error::Conflict { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Error::UnknownOutcome { .. } | Error::Corrupt { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<plerion_metadata::Error> for Refusal {
    fn from(error: plerion_metadata::Error) -> Self {
        let status = match &error {
            plerion_metadata::Error::NotFound { .. } => StatusCode::NOT_FOUND,
            error if error.is_conflict() => StatusCode::SERVICE_UNAVAILABLE,
            plerion_metadata::Error::Unavailable { .. } | plerion_metadata::Error::Closed => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<InvalidName> for Refusal {
    fn from(error: InvalidName) -> Self {
        Self::invalid(error.to_string())
    }
}
