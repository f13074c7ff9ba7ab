//! The stored value of one service unit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ServiceUnitState;
use crate::bundle::BundleRange;

/// Who owns a service unit, or is about to. The JSON form is the one of Pulsar's state channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", rename_all = "camelCase")]
pub struct ServiceUnitRecord {
    /// The state.
    pub state: ServiceUnitState,
    /// The owner, or the broker that is to become it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst_broker: Option<String>,
    /// The broker that has to let go, or did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_broker: Option<String>,
    /// The children of a split with the broker each is meant for, if any was named.
    #[serde(rename = "splitServiceUnitToDestBroker", skip_serializing_if = "Option::is_none")]
    pub children: Option<BTreeMap<BundleRange, Option<String>>>,
    /// Set by the leader to override whatever the record was before.
    pub force: bool,
    /// When the writer made the record, in milliseconds since 1970 by its own clock.
    pub timestamp: i64,
    /// One more than the version of the record it replaces, wrapping.
    pub version_id: i64,
}

/// A record that names no broker although its state needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Empty broker: a record in state {state:?} must name a destination or a source broker")]
pub struct InvalidRecord {
    /// The state that needs a broker.
    pub state: ServiceUnitState,
}

impl ServiceUnitRecord {
    /// A record without children and without force.
    ///
    /// # Errors
    /// [`InvalidRecord`] when both brokers are blank and the state is not `Free`.
    pub fn new(
        state: ServiceUnitState,
        dst_broker: Option<String>,
        source_broker: Option<String>,
        timestamp: i64,
        version_id: i64,
    ) -> Result<Self, InvalidRecord> {
        Self { state, dst_broker, source_broker, children: None, force: false, timestamp, version_id }.checked()
    }

    /// The destination broker, unless it is blank.
    #[must_use]
    pub fn destination(&self) -> Option<&str> {
        named(self.dst_broker.as_deref())
    }

    /// The source broker, unless it is blank.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        named(self.source_broker.as_deref())
    }

    fn checked(self) -> Result<Self, InvalidRecord> {
        let needs_broker = self.state != ServiceUnitState::Free;
        if needs_broker && self.destination().is_none() && self.source().is_none() {
            return Err(InvalidRecord { state: self.state });
        }
        Ok(self)
    }
}

fn named(broker: Option<&str>) -> Option<&str> {
    broker.filter(|name| !name.trim().is_empty())
}

/// A record as it was read, before the rule on brokers is checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unchecked {
    state: ServiceUnitState,
    dst_broker: Option<String>,
    source_broker: Option<String>,
    #[serde(rename = "splitServiceUnitToDestBroker")]
    children: Option<BTreeMap<BundleRange, Option<String>>>,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    timestamp: i64,
    #[serde(default)]
    version_id: i64,
}

impl TryFrom<Unchecked> for ServiceUnitRecord {
    type Error = InvalidRecord;

    fn try_from(read: Unchecked) -> Result<Self, InvalidRecord> {
        let Unchecked { state, dst_broker, source_broker, children, force, timestamp, version_id } = read;
        Self { state, dst_broker, source_broker, children, force, timestamp, version_id }.checked()
    }
}
