//! Connections to bookies, of one shard.
//!
//! There are at most two for each bookie, one for each protocol, shared by all ledgers of the shard. Requests are
//! pipelined and answered in any order.

mod in_flight;
mod link;
mod pool;

pub use in_flight::{InFlight, Key, Sent};
pub(crate) use pool::Connections;

use std::rc::Rc;
use std::time::Duration;

use crate::bookie::BookieId;
use crate::protocol::{Reply, Token};

/// How connections behave.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long to wait for the answer to an add.
    pub add_timeout: Duration,
    /// How long to wait for the answer to a read.
    pub read_timeout: Duration,
    /// The longest frame, in bytes; at most what the bookies are set to.
    pub max_frame: usize,
    /// Bytes that may wait to be sent to one bookie. What comes beyond counts as not answered, so that a bookie that
    /// is too slow is replaced.
    pub max_queued_bytes: usize,
    /// How long to leave a bookie alone after a failed connection; doubles up to 32 times that.
    pub reconnect_pause: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            add_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(30),
            max_frame: crate::wire::MAX_FRAME,
            max_queued_bytes: 64 << 20,
            reconnect_pause: Duration::from_millis(100),
        }
    }
}

/// Whoever asked a bookie something.
pub(crate) trait Answered {
    /// The answer. It comes once, and never from within the asking.
    fn answered(&self, from: &BookieId, token: Token, reply: Reply);
}

/// Whom to tell an answer.
pub(crate) struct Waiter {
    pub(crate) whom: Rc<dyn Answered>,
    pub(crate) token: Token,
}
