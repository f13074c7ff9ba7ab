//! Who answers for a service unit, by its record.

use super::ServiceUnitRecord;
use super::ServiceUnitState::{Assigning, Deleted, Free, Init, Owned, Releasing, Splitting};

/// The answer to "who serves this unit?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// Nobody; a broker may be chosen.
    Unowned,
    /// This broker does, or will as soon as it gets the request.
    Broker(&'a str),
    /// It is being decided: wait for the next record, within the time allowed for a step.
    Pending,
    /// The unit was split; look the topic up again with the current boundaries.
    Deleted,
}

/// Who serves the unit, as asked at broker `me`.
///
/// An owner that is not active gives [`Lookup::Pending`]: the leader is about to replace it. A unit on its way to another
/// broker is answered at once with that broker; only the destination itself waits, and the releasing source never does,
/// so closing a topic cannot wait for itself (apache/pulsar#21332).
#[must_use]
pub fn lookup_owner<'a>(
    record: Option<&'a ServiceUnitRecord>,
    me: &str,
    is_active: impl Fn(&str) -> bool,
) -> Lookup<'a> {
    let Some(record) = record else { return Lookup::Unowned };
    let serving = |broker: Option<&'a str>| match broker {
        None => Lookup::Unowned,
        Some(broker) if is_active(broker) => Lookup::Broker(broker),
        Some(_) => Lookup::Pending,
    };
    match record.state {
        Init | Free => Lookup::Unowned,
        Owned => serving(record.destination()),
        Splitting => serving(record.source()),
        Assigning | Releasing => match record.destination() {
            None => Lookup::Unowned,
            Some(broker) if broker == me => Lookup::Pending,
            Some(broker) => Lookup::Broker(broker),
        },
        Deleted => Lookup::Deleted,
    }
}

/// The broker a client of the unit should go to next, if the record says.
#[must_use]
pub fn assigned_broker(record: Option<&ServiceUnitRecord>) -> Option<&str> {
    let record = record?;
    match record.state {
        Owned | Assigning | Releasing => record.destination(),
        Splitting => record.source(),
        Init | Free | Deleted => None,
    }
}
