//! Why a producer is not let in.

use super::ProducerKey;

/// Which error code of the protocol a refusal is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// `ProducerBusy`.
    ProducerBusy,
    /// `ProducerFenced`.
    ProducerFenced,
}

/// Why a producer may not publish to a topic. The texts are Pulsar's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another connected producer has the name.
    #[error("Producer with name '{name}' is already connected to topic")]
    NameTaken {
        /// The name.
        name: String,
        /// Who has it.
        holder: ProducerKey,
    },
    /// A producer has the topic for itself, or waits for it.
    #[error("Topic has an existing exclusive producer: {holder}")]
    ExclusiveTaken {
        /// Its name.
        holder: String,
        /// Whether the newcomer wanted the topic for itself too.
        fenced: bool,
    },
    /// Producers that share the topic are connected.
    #[error("Topic has existing shared producers")]
    SharedPresent,
    /// Another producer had the topic for itself since this one was connected.
    #[error("Topic epoch has already moved. Current epoch: {current}, Producer epoch: {own}")]
    EpochMoved {
        /// The topic's epoch.
        current: u64,
        /// The epoch the producer had.
        own: u64,
    },
    /// The policy's number of producers is reached.
    #[error("Topic reached max producers limit")]
    TooMany,
}

impl Refusal {
    /// The protocol's code.
    pub const fn code(&self) -> Code {
        match self {
            Self::ExclusiveTaken { fenced: true, .. } | Self::SharedPresent | Self::EpochMoved { .. } => {
                Code::ProducerFenced
            }
            _ => Code::ProducerBusy,
        }
    }

    /// The producer that stands in the way and may be gone without our knowing: if its connection proves dead, remove
    /// it and try again, else send the refusal.
    pub const fn check_first(&self) -> Option<ProducerKey> {
        match self {
            Self::NameTaken { holder, .. } => Some(*holder),
            _ => None,
        }
    }

    /// Whether the same request can succeed later, once other producers have left.
    pub const fn is_retryable(&self) -> bool {
        !matches!(self, Self::EpochMoved { .. })
    }
}
