//! Where a service unit is in its life.

use serde::{Deserialize, Serialize};

/// The state of a service unit. Its names are the ones on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ServiceUnitState {
    /// There is no record.
    Init,
    /// Released; nobody owns it.
    Free,
    /// Served by the destination broker.
    Owned,
    /// Told to the destination broker, which has not confirmed it.
    Assigning,
    /// The source broker is closing its topics.
    Releasing,
    /// The source broker is splitting it.
    Splitting,
    /// The parent of a finished split.
    Deleted,
}

impl ServiceUnitState {
    /// Every state.
    pub const ALL: [Self; 7] =
        [Self::Init, Self::Free, Self::Owned, Self::Assigning, Self::Releasing, Self::Splitting, Self::Deleted];

    /// Whether some broker still has to act for the unit to come to rest.
    #[must_use]
    pub const fn is_in_flight(self) -> bool {
        matches!(self, Self::Assigning | Self::Releasing | Self::Splitting)
    }

    /// Whether the unit belongs to a broker, or is on its way to or from one.
    #[must_use]
    pub const fn is_active(self) -> bool {
        self.is_in_flight() || matches!(self, Self::Owned)
    }
}
