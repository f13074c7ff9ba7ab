//! Nodes as rows, and the servers' errors as ours.

use bytes::Bytes;
use zookeeper_client::{Error as ZkError, Stat as ZkStat};

use crate::row::SessionId;
use crate::{Error, Record, Stat};

/// Held by a node that is no row, only there for those below it.
pub(super) const PLACE: &[u8] = b"\0plerion/no-row\0";
/// Held by such a node that numbers those below it, and therefore stays when it is empty.
pub(super) const COUNTER: &[u8] = b"\0plerion/counter";

/// Two versions that a node may have without being a row: as it was made, and after it became a counter.
pub(super) const LAST_PLACE_VERSION: u64 = 1;

/// A node as it was read.
pub(super) struct Node {
    pub(super) value: Vec<u8>,
    pub(super) stat: ZkStat,
}

impl Node {
    pub(super) fn is_place(&self) -> bool {
        self.value == PLACE || self.value == COUNTER
    }

    pub(super) fn has_children(&self) -> bool {
        self.stat.num_children > 0
    }

    pub(super) fn record(self, reader: SessionId) -> Record {
        Record { stat: stat(&self.stat, reader), value: Bytes::from(self.value) }
    }
}

/// Whether a node of this stat can be a place, which its value decides.
pub(super) fn may_be_place(stat: &ZkStat) -> bool {
    usize::try_from(stat.data_length).is_ok_and(|length| length == PLACE.len())
}

pub(super) fn stat(stat: &ZkStat, reader: SessionId) -> Stat {
    // Containers and nodes with a time to live say so in the owner's highest byte, which no session has set.
    let owner = if stat.ephemeral_owner < 0 && stat.ephemeral_owner >> 56 == -128 { 0 } else { stat.ephemeral_owner };
    Stat {
        version: unsigned(stat.version.into()),
        created: unsigned(stat.czxid),
        modified: unsigned(stat.mzxid),
        ephemeral: owner != 0,
        created_by_self: owner != 0 && owner.cast_unsigned() == reader,
    }
}

/// A number that the servers keep with a sign it does not need.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// The version to be expected by the servers; none that they have if it is too large for them.
pub(super) fn expected(version: u64) -> i32 {
    i32::try_from(version).unwrap_or(i32::MAX)
}

/// Whether a call may have reached the servers without its outcome being known.
pub(super) fn is_unclear(error: &ZkError) -> bool {
    !matches!(
        error,
        ZkError::BadArguments(_)
            | ZkError::NoAuth
            | ZkError::InvalidAcl
            | ZkError::AuthFailed
            | ZkError::SessionMoved
            | ZkError::NotReadOnly
            | ZkError::QuotaExceeded
            | ZkError::Throttled
            | ZkError::MarshallingError
            | ZkError::Unimplemented
            | ZkError::NoNode
            | ZkError::BadVersion
            | ZkError::NodeExists
            | ZkError::NotEmpty
            | ZkError::NoChildrenForEphemerals
    )
}

/// What a failed read means.
pub(super) fn read_error(path: &str, error: &ZkError) -> Error {
    match error {
        ZkError::BadArguments(why) => Error::InvalidPath { path: path.to_owned(), why },
        error => Error::unavailable(error),
    }
}

/// What a failed write means, other than for the state of its row.
pub(super) fn write_error(path: &str, error: &ZkError) -> Error {
    match error {
        ZkError::NoChildrenForEphemerals => {
            Error::InvalidPath { path: path.to_owned(), why: "a row cannot lie below an ephemeral one" }
        }
        error if is_unclear(error) => Error::UnknownOutcome { path: path.to_owned(), why: error.to_string() },
        error => read_error(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_one_length() {
        assert_eq!(PLACE.len(), COUNTER.len());
    }
}
