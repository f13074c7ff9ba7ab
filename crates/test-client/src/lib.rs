//! A client of the Pulsar protocol for tests: nothing happens behind the test's back.
//!
//! A [`Client`] is one connection. It sends what it is told to, well-formed or not, and hands out every frame in the
//! order it came; requests wait for their own answer and keep what comes before it. There is no task, no retry, no
//! reconnection and no queue that asks for more messages by itself.
//!
//! [`Outgoing`] makes payloads, [`Incoming`] reads them.

mod answers;
mod client;
mod error;
mod incoming;
mod outgoing;
mod requests;
#[cfg(test)]
mod tests;

pub use client::{Client, Received};
pub use error::Error;
pub use incoming::{Incoming, Single};
pub use outgoing::Outgoing;
pub use plerion_wire::proto;
pub use plerion_wire::proto::base_command::Type;
pub use requests::{Consumer, EARLIEST, LATEST};

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The ledger; `u64::MAX` in the receipt of a duplicate.
    pub ledger: u64,
    /// The entry in the ledger.
    pub entry: u64,
}

impl From<Position> for proto::MessageIdData {
    fn from(Position { ledger, entry }: Position) -> Self {
        Self { ledger_id: ledger, entry_id: entry, ..Default::default() }
    }
}

impl From<&proto::MessageIdData> for Position {
    fn from(id: &proto::MessageIdData) -> Self {
        Self { ledger: id.ledger_id, entry: id.entry_id }
    }
}
