//! The messages of a batch.
//!
//! The body of a batch, decompressed and decrypted, repeats `u32 size · SingleMessageMetadata · payload`.

use crate::{
    DecodeError,
    field::{Fields, required},
};

/// Why a batch cannot be followed any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The batch ends inside a message.
    #[error("batch ends inside message {0}")]
    Truncated(usize),
    /// A message's metadata cannot be read.
    #[error("metadata of message {index}: {cause}")]
    Metadata {
        /// The message's place in the batch.
        index: usize,
        /// What is wrong.
        cause: DecodeError,
    },
}

/// One message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleMessage<'a> {
    /// The encoded `SingleMessageMetadata`.
    pub metadata: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
    /// The key, base64 if [`partition_key_b64_encoded`](Self::partition_key_b64_encoded).
    pub partition_key: Option<&'a str>,
    /// The key is binary.
    pub partition_key_b64_encoded: bool,
    /// The key that orders delivery in place of the partition key.
    pub ordering_key: Option<&'a [u8]>,
    /// When it happened according to the application, in ms since the Unix epoch.
    pub event_time: Option<u64>,
    /// Its sequence id.
    pub sequence_id: Option<u64>,
    /// Compaction removed it: clients skip it.
    pub compacted_out: bool,
    /// It has no value: for compaction, it deletes its key.
    pub null_value: bool,
}

/// Iterates over the messages in the body of a batch; ends after the first error.
#[must_use]
pub fn messages(body: &[u8]) -> Messages<'_> {
    Messages { rest: body, index: 0 }
}

/// See [`messages`].
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    index: usize,
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<SingleMessage<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        let index = self.index;
        Some(split(rest, index).map(|(message, rest)| {
            self.rest = rest;
            self.index += 1;
            message
        }))
    }
}

fn split(batch: &[u8], index: usize) -> Result<(SingleMessage<'_>, &[u8]), BatchError> {
    let (size, rest) = batch.split_first_chunk().ok_or(BatchError::Truncated(index))?;
    let (metadata, rest) =
        rest.split_at_checked(u32::from_be_bytes(*size) as usize).ok_or(BatchError::Truncated(index))?;
    let (mut message, size) = decode(metadata).map_err(|cause| BatchError::Metadata { index, cause })?;
    let (payload, rest) =
        usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size)).ok_or(BatchError::Truncated(index))?;
    message.payload = payload;
    Ok((message, rest))
}

/// The message but for its payload, and the size of that.
fn decode(metadata: &[u8]) -> Result<(SingleMessage<'_>, i32), DecodeError> {
    let mut payload_size = None;
    let mut message = SingleMessage {
        metadata,
        payload: &[],
        partition_key: None,
        partition_key_b64_encoded: false,
        ordering_key: None,
        event_time: None,
        sequence_id: None,
        compacted_out: false,
        null_value: false,
    };
    let mut fields = Fields::new(metadata);
    while let Some(field) = fields.next()? {
        match field.number {
            2 => message.partition_key = Some(field.str()?),
            3 => payload_size = Some(field.i32()?),
            4 => message.compacted_out = field.bool()?,
            5 => message.event_time = Some(field.u64()?),
            6 => message.partition_key_b64_encoded = field.bool()?,
            7 => message.ordering_key = Some(field.bytes()?),
            8 => message.sequence_id = Some(field.u64()?),
            9 => message.null_value = field.bool()?,
            _ => {}
        }
    }
    Ok((message, required(payload_size, "SingleMessageMetadata.payload_size")?))
}

#[cfg(test)]
mod tests;
