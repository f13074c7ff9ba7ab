//! What the leader writes over a record that nobody will complete.

use super::ServiceUnitState::{Free, Owned, Releasing, Splitting};
use super::{ServiceUnitRecord, next_version};

/// The forced record that replaces `orphan`, an active record whose broker is gone or whose step is stuck.
///
/// `selected` is the broker to take the unit, if one was found. With `graceful` the old owner is still alive (it is
/// shutting down), so an owned unit is transferred rather than taken. `now` is in milliseconds since 1970.
///
/// The result always names a broker or is `Free`, so that one odd record never stops the repair of the others.
#[must_use]
pub fn override_orphan(
    orphan: &ServiceUnitRecord,
    selected: Option<&str>,
    graceful: bool,
    now: i64,
) -> ServiceUnitRecord {
    let mut record = ServiceUnitRecord {
        state: Free,
        dst_broker: None,
        source_broker: None,
        children: None,
        force: true,
        timestamp: now,
        version_id: next_version(Some(orphan)),
    };
    // Whoever serves the unit now has to let go, also if it only seems dead.
    let holder = if orphan.state == Owned { &orphan.dst_broker } else { &orphan.source_broker };
    let Some(selected) = selected else {
        record.source_broker.clone_from(holder);
        return record;
    };
    if orphan.state == Splitting {
        record.state = Splitting;
        record.dst_broker.clone_from(&orphan.dst_broker);
        record.source_broker = Some(selected.to_owned());
        record.children.clone_from(&orphan.children);
        return record;
    }
    let other_holder = holder.clone().filter(|holder| holder != selected);
    record.state = match orphan.state {
        Owned if graceful && other_holder.is_some() => Releasing,
        _ => Owned,
    };
    record.dst_broker = Some(selected.to_owned());
    record.source_broker = other_holder;
    record
}
