//! A frame: some numbered changes in one sealed entry.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use crate::codec::{self, Malformed, Put};
use crate::topic_state::Change;

const VERSION: u8 = 1;

/// A frame of this size is shipped without waiting for a flush.
pub(super) const FULL_BYTES: usize = 256 << 10;

/// A change as it was recorded.
pub(super) struct Record {
    pub(super) sequence: u64,
    pub(super) topic: Arc<str>,
    pub(super) change: Change,
}

/// Adds a change to a frame under construction; an empty buffer becomes one.
pub(super) fn add(frame: &mut BytesMut, sequence: u64, topic: &str, change: &Change) {
    if frame.is_empty() {
        frame.put_u8(VERSION);
    }
    frame.put_varint(sequence);
    frame.put_block(topic.as_bytes());
    change.encode(frame);
}

/// Ends a frame.
pub(super) fn seal(frame: BytesMut) -> Bytes {
    codec::finish(frame)
}

/// Gives the changes of a frame in order.
pub(super) fn decode(frame: Bytes, mut each: impl FnMut(Record)) -> Result<(), Malformed> {
    let mut take = codec::open(VERSION, frame)?;
    while !take.is_empty() {
        let sequence = take.int()?;
        let topic = Arc::from(take.string()?);
        each(Record { sequence, topic, change: Change::decode(&mut take)? });
    }
    Ok(())
}
