//! What goes into a dispatcher's decisions, and what comes out.

use super::ConsumerKey;
use crate::Position;

/// What a dispatcher has to know of an entry to route it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Where it is.
    pub position: Position,
    /// How many messages are in it: the batch size, 1 for a single message.
    pub messages: u32,
    /// The Murmur3 hash of its key, see [`crate::sticky::KeyFacts::hash`]; Key_Shared alone looks at it.
    pub key_hash: u32,
    /// When it is to be delivered, in milliseconds of the epoch.
    pub deliver_at: Option<u64>,
    /// Which chunk of a chunked message it is.
    pub chunk: Option<Chunk>,
}

/// A part of a message that was published in several entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// A hash of the message's uuid: the same for its chunks, different for other messages.
    pub message: u64,
    /// The chunk's number, from 0.
    pub id: u32,
    /// How many chunks the message has.
    pub count: u32,
}

/// An entry that a consumer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The entry's index among those offered.
    pub index: usize,
    /// Who gets it.
    pub consumer: ConsumerKey,
    /// How often the consumers asked for it again before.
    pub redelivery_count: u32,
}

/// Something consumers are to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A Failover consumer became the active one, or is not it (any more).
    ActiveChanged {
        /// Whom to tell.
        consumer: ConsumerKey,
        /// Whether it is the active one.
        is_active: bool,
    },
}
