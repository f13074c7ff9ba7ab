//! Frames: how commands follow each other on a connection.
//!
//! A frame is `u32 total · u32 command size · BaseCommand · [payload part]`, sizes big-endian, `total` counting what
//! follows it. The payload part is everything after the command.

use bytes::{Bytes, BytesMut};

/// What a frame may add to the largest message: command, metadata and framing.
pub const OVERHEAD: usize = 10_240;

/// Size of the field that starts a frame.
const SIZE_FIELD: usize = 4;

/// Why bytes are not a frame. The stream cannot be followed any further: the connection is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame is larger than accepted.
    #[error("frame of {size} bytes, at most {limit} are accepted")]
    TooLarge {
        /// Size of the whole frame.
        size: usize,
        /// Largest accepted frame.
        limit: usize,
    },
    /// The frame has no room for a command.
    #[error("frame announces {0} bytes, too few to hold a command")]
    TooSmall(usize),
    /// The command goes on after the end of its frame.
    #[error("command of {command} bytes in a frame with room for {room}")]
    CommandSize {
        /// Size the command claims.
        command: usize,
        /// Bytes of the frame that are left for it.
        room: usize,
    },
}

/// A complete frame, borrowed from the bytes it arrived in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The encoded `BaseCommand`, never empty.
    pub command: &'a [u8],
    /// What follows the command (see [`Payload`](crate::Payload)), empty for most commands.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Splits one whole frame, as cut by [`peek`] or [`take`].
    pub fn parse(frame: &'a [u8]) -> Result<Self, FrameError> {
        let Some((_, rest)) = frame.split_at_checked(SIZE_FIELD) else {
            return Err(FrameError::TooSmall(frame.len()));
        };
        let Some((size, rest)) = rest.split_first_chunk() else { return Err(FrameError::TooSmall(rest.len())) };
        let command = size_of(*size);
        match rest.split_at_checked(command) {
            _ if command == 0 => Err(FrameError::CommandSize { command, room: rest.len() }),
            Some((command, payload)) => Ok(Self { command, payload }),
            None => Err(FrameError::CommandSize { command, room: rest.len() }),
        }
    }
}

/// The largest accepted frame for a given largest message.
#[must_use]
pub fn limit(max_message_size: usize) -> usize {
    max_message_size.saturating_add(OVERHEAD)
}

/// The size of the frame that `buf` starts with, once all of it is there.
///
/// Sizes are checked as soon as they are visible, so a frame that will never be accepted fails before it is received.
/// `limit` is the largest accepted frame including its size field, as [`limit`] gives it.
pub fn peek(buf: &[u8], limit: usize) -> Result<Option<usize>, FrameError> {
    let Some((size, rest)) = buf.split_first_chunk() else { return Ok(None) };
    let total = size_of(*size);
    let frame = SIZE_FIELD.saturating_add(total);
    if frame > limit {
        return Err(FrameError::TooLarge { size: frame, limit });
    }
    let Some(room) = total.checked_sub(SIZE_FIELD).filter(|room| *room > 0) else {
        return Err(FrameError::TooSmall(total));
    };
    if let Some(size) = rest.first_chunk() {
        let command = size_of(*size);
        if command == 0 || command > room {
            return Err(FrameError::CommandSize { command, room });
        }
    }
    Ok((buf.len() >= frame).then_some(frame))
}

/// Removes the frame that `buf` starts with, once all of it is there.
///
/// [`Frame::parse`] reads the result; `Bytes::slice_ref` turns its parts into owners of their own, without copying.
pub fn take(buf: &mut BytesMut, limit: usize) -> Result<Option<Bytes>, FrameError> {
    Ok(peek(buf, limit)?.map(|frame| buf.split_to(frame).freeze()))
}

fn size_of(field: [u8; SIZE_FIELD]) -> usize {
    u32::from_be_bytes(field) as usize
}

#[cfg(test)]
mod tests;
