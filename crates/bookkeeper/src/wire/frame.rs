//! Frames: a length, then that many bytes.

use bytes::{Buf, Bytes, BytesMut};

/// Why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The announced frame is longer than allowed.
    #[error("a frame of {length} bytes was announced, at most {limit} are allowed")]
    TooLong {
        /// The announced length, the length field not counted.
        length: usize,
        /// The limit.
        limit: usize,
    },
}

/// Cuts a stream of bytes into frames. Nothing is set aside for what was announced but has not come.
#[derive(Debug)]
pub struct Frames {
    limit: usize,
}

impl Frames {
    /// Frames of at most `max_frame` bytes, length field included.
    pub fn new(max_frame: usize) -> Self {
        Self { limit: max_frame.saturating_sub(4) }
    }

    /// The next whole frame at the start of `received`, without its length; `None` if it has not come yet.
    ///
    /// # Errors
    /// [`FrameError::TooLong`]: the connection has to be closed.
    pub fn next(&self, received: &mut BytesMut) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = received.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.limit {
            return Err(FrameError::TooLong { length, limit: self.limit });
        }
        if received.len() < 4 + length {
            return Ok(None);
        }
        received.advance(4);
        Ok(Some(received.split_to(length).freeze()))
    }
}
