//! Why a consumer is not let in.

use super::ConsumerKey;
use crate::selector::AssignError;

/// Which error code of the protocol a refusal is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// `ConsumerBusy`.
    ConsumerBusy,
    /// `ConsumerAssignError`.
    ConsumerAssign,
    /// `NotAllowedError`.
    NotAllowed,
}

/// Why a consumer cannot join a subscription. The texts are Pulsar's, clients and tests look for them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Consumers of another type are connected.
    #[error("Subscription is of different type")]
    DifferentType,
    /// The Exclusive subscription has a consumer.
    #[error("Exclusive consumer is already connected")]
    Exclusive {
        /// The consumer that holds it.
        holder: ConsumerKey,
    },
    /// The policy's number of consumers is reached.
    #[error("Subscription reached max consumers limit")]
    TooManyConsumers,
    /// Auto-split and sticky consumers do not mix.
    #[error(
        "Subscription is of different type. Active subscription key_shared mode of '{active}' is different than the \
         connecting consumer's key_shared mode '{connecting}'."
    )]
    KeySharedMode {
        /// The mode in force.
        active: &'static str,
        /// The newcomer's mode.
        connecting: &'static str,
    },
    /// Consumers that allow delivery out of order and ones that do not, do not mix.
    #[error("Subscription is of different type. {}", out_of_order_text(*active_allows))]
    OutOfOrder {
        /// Whether the connected consumers allow it.
        active_allows: bool,
    },
    /// A non-durable consumer meets a durable subscription.
    #[error("Durable subscription with the same name already exists.")]
    SubscriptionIsDurable,
    /// A durable consumer meets a non-durable subscription.
    #[error("NonDurable subscription with the same name already exists.")]
    SubscriptionIsNotDurable,
    /// The declared ranges overlap with those of another consumer.
    #[error("Range conflict with consumer {description}")]
    RangeConflict {
        /// The consumer whose range it is.
        holder: ConsumerKey,
        /// That consumer as its connection describes it.
        description: String,
    },
    /// There are no hashes for the consumer.
    #[error(transparent)]
    Assign(AssignError),
}

const fn out_of_order_text(active_allows: bool) -> &'static str {
    if active_allows {
        "Active subscription allows out of order delivery while the connecting consumer does not allow it."
    } else {
        "Active subscription does not allow out of order delivery while the connecting consumer allows it."
    }
}

impl Refusal {
    /// The protocol's code.
    pub const fn code(&self) -> Code {
        match self {
            Self::SubscriptionIsDurable | Self::SubscriptionIsNotDurable => Code::NotAllowed,
            Self::RangeConflict { .. } | Self::Assign(_) => Code::ConsumerAssign,
            _ => Code::ConsumerBusy,
        }
    }

    /// The consumer that stands in the way and may be gone without our knowing: if its connection proves dead, remove
    /// it and try again, else send the refusal.
    pub const fn check_first(&self) -> Option<ConsumerKey> {
        match self {
            Self::Exclusive { holder } | Self::RangeConflict { holder, .. } => Some(*holder),
            _ => None,
        }
    }

    /// Whether the same request can succeed later, once other consumers have left.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Assign(error) => matches!(error, AssignError::Exhausted(_) | AssignError::Conflict(_)),
            _ => true,
        }
    }
}
