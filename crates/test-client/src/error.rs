use std::time::Duration;

use plerion_wire::proto::ServerError;
use plerion_wire::{DecodeError, FrameError, PayloadError};

/// Why a client did not get what it asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection broke.
    #[error("connection: {0}")]
    Io(#[from] std::io::Error),
    /// The broker closed the connection.
    #[error("the broker closed the connection")]
    Closed,
    /// What came is no frame.
    #[error("not a frame: {0}")]
    Frame(#[from] FrameError),
    /// What came is no command.
    #[error("not a command: {0}")]
    Command(#[from] prost::DecodeError),
    /// What came with a MESSAGE is no payload.
    #[error("not a payload: {0}")]
    Payload(#[from] PayloadError),
    /// What came with a MESSAGE has no readable metadata.
    #[error("not a message: {0}")]
    Metadata(#[from] DecodeError),
    /// A request was answered by an error.
    #[error("refused with {}: {message}", code.as_str_name())]
    Refused {
        /// The error's code.
        code: ServerError,
        /// Its text.
        message: String,
    },
    /// Nothing came in time.
    #[error("nothing came within {0:?}")]
    Silence(Duration),
}

impl Error {
    /// The code of a refused request.
    pub fn code(&self) -> Option<ServerError> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the connection is gone, so that another one may do better.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Closed)
    }
}
