//! A read that a dispatcher waits for.

use std::sync::Arc;

use crate::Position;

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Entries in order from the first one at or after `from`, at least one, at most `max_entries`.
    Forward {
        /// An unacknowledged entry that exists.
        from: Position,
        /// How many entries can be used.
        max_entries: u32,
    },
    /// These entries, ascending. Any of them, from the front, may be offered; one that cannot be read may be left out.
    Replay(Vec<Position>),
}

/// The one outstanding read of a dispatcher.
///
/// The value *is* the read: dropping it, for whatever reason, ends the read, and the dispatcher asks anew. A value
/// that outlives a rewind of the subscription is stale and is refused.
#[derive(Debug)]
#[must_use = "dropping the read cancels it"]
pub struct Read {
    plan: Plan,
    lease: Arc<()>,
}

impl Read {
    /// What to read.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// The result of a read that was begun before a rewind; its entries must not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the read was begun before the subscription was rewound; read again")]
pub struct Stale;

/// Grants one [`Read`] at a time.
#[derive(Debug, Default)]
pub(super) struct Lease(Arc<()>);

impl Lease {
    /// Whether a granted read is alive.
    pub(super) fn is_out(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    pub(super) fn grant(&self, plan: Plan) -> Read {
        Read { plan, lease: Arc::clone(&self.0) }
    }

    /// Ends the read that is out, if any: its result will be refused.
    pub(super) fn revoke(&mut self) {
        if self.is_out() {
            self.0 = Arc::new(());
        }
    }

    /// Takes a read back.
    pub(super) fn redeem(&self, read: Read) -> Result<Plan, Stale> {
        if Arc::ptr_eq(&self.0, &read.lease) { Ok(read.plan) } else { Err(Stale) }
    }
}
