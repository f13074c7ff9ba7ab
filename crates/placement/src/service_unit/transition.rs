//! Which record may replace which.

use super::ServiceUnitState::{Assigning, Deleted, Free, Init, Owned, Releasing, Splitting};
use super::{ServiceUnitRecord, ServiceUnitState};

/// Where the records are kept, which decides whether versions can be missing between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// A compacted topic: a reader may see a later record without the ones in between.
    SystemTopic,
    /// A metadata store with compare-and-set: every record replaces the one before it.
    MetadataStore,
}

/// The version of the record that is to replace `current`.
#[must_use]
pub fn next_version(current: Option<&ServiceUnitRecord>) -> i64 {
    current.map_or(1, |record| record.version_id.wrapping_add(1))
}

/// Whether `to` may replace `from`; `None` is "no record". A tombstone (`to` is `None`) always may.
///
/// The first writer of version *n* + 1 wins: a second record of that version is refused whatever it says. This is
/// Pulsar's `ServiceUnitStateDataConflictResolver`, except that an `Owned` record without destination is refused where
/// Pulsar fails.
#[must_use]
pub fn accept(from: Option<&ServiceUnitRecord>, to: Option<&ServiceUnitRecord>, storage: Storage) -> bool {
    let Some(to) = to else { return true };
    match from {
        None if storage == Storage::MetadataStore => return to.version_id == 1,
        None => {}
        Some(from) => match order(from.version_id, to.version_id) {
            Order::NotNewer => return false,
            Order::Gap => return storage == Storage::SystemTopic,
            Order::Next => {}
        },
    }
    to.force || (is_transition(from.map_or(Init, |f| f.state), to.state, storage) && brokers_fit(from, to))
}

enum Order {
    NotNewer,
    Next,
    Gap,
}

fn order(from: i64, to: i64) -> Order {
    if from == i64::MAX && to == i64::MIN {
        Order::Next
    } else if from >= to {
        Order::NotNewer
    } else if from < to - 1 {
        Order::Gap
    } else {
        Order::Next
    }
}

/// The legal steps. With a system topic the first record seen may be one from the middle of a life.
fn is_transition(from: ServiceUnitState, to: ServiceUnitState, storage: Storage) -> bool {
    match (from, to) {
        (Init, Assigning)
        | (Free, Assigning)
        | (Owned, Releasing | Splitting)
        | (Assigning, Owned)
        | (Releasing, Free | Assigning)
        | (Splitting, Deleted)
        | (Deleted, Init) => true,
        (Init, Free | Owned | Releasing | Splitting | Deleted) | (Free, Init) => storage == Storage::SystemTopic,
        _ => false,
    }
}

/// Whether the brokers named by a legal step are the ones its predecessor allows.
fn brokers_fit(from: Option<&ServiceUnitRecord>, to: &ServiceUnitRecord) -> bool {
    let Some(from) = from else { return true };
    let unchanged = from.dst_broker == to.dst_broker && from.source_broker == to.source_broker;
    let by_owner = from.dst_broker.is_some() && from.dst_broker == to.source_broker;
    match (from.state, to.state) {
        (Owned, Splitting) => to.destination().is_none() && by_owner,
        (Owned, Releasing) => to.source().is_some() && by_owner && from.dst_broker != to.dst_broker,
        (Releasing, Assigning) => to.destination().is_some() && unchanged,
        (Assigning, Owned) | (Releasing, Free) | (Splitting, Deleted) => unchanged,
        (Free, Assigning) => to.source().is_none() && to.destination().is_some(),
        _ => true,
    }
}
