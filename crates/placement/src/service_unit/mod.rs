//! The ownership record of a bundle and the rules by which one record may follow another.
//!
//! A bundle is a *service unit* here, the name the state channel uses. Every broker that sees two records of one unit
//! decides alike which of them stands, with [`accept`]; nothing but this function says what a legal successor is
//! (INV-OWN-3).

mod orphan;
mod owner;
mod record;
mod state;
mod transition;
mod waiter;

pub use orphan::override_orphan;
pub use owner::{Lookup, assigned_broker, lookup_owner};
pub use record::{InvalidRecord, ServiceUnitRecord};
pub use state::ServiceUnitState;
pub use transition::{Storage, accept, next_version};
pub use waiter::{Progress, split_progress, unload_progress};

#[cfg(test)]
mod tests;
