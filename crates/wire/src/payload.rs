//! The payload part of SEND and MESSAGE frames, which is also what an entry in storage consists of.
//!
//! `[0x0e02 · u32 size · BrokerEntryMetadata] [0x0e01 · u32 CRC-32C] u32 size · MessageMetadata · body`
//!
//! The checksum covers everything after it. Clients in Go and Rust cannot read a message without one.

use bytes::BufMut;
use prost::Message as _;

use crate::{DecodeError, checksum, proto::BrokerEntryMetadata};

const BROKER_ENTRY: [u8; 2] = [0x0e, 0x02];
const CHECKSUM: [u8; 2] = [0x0e, 0x01];

/// Size of the checksum part.
pub const CHECKSUM_PART: usize = 6;

/// What is wrong with a payload part. The same bytes fail again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// A part goes on after the end of the frame.
    #[error("payload ends inside its {part}: {need} bytes needed, {left} left")]
    Truncated {
        /// The part.
        part: &'static str,
        /// Bytes the part takes.
        need: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// The payload is not what its sender computed the checksum of.
    #[error("checksum is {computed:#010x}, the sender's is {stated:#010x}")]
    Checksum {
        /// In the payload.
        stated: u32,
        /// Of the bytes received.
        computed: u32,
    },
}

/// A payload part, split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The encoded `BrokerEntryMetadata`, see [`Payload::decode_broker_entry`].
    pub broker_entry: Option<&'a [u8]>,
    /// The checksum its sender computed.
    pub checksum: Option<u32>,
    /// The encoded `MessageMetadata`.
    pub metadata: &'a [u8],
    /// The message or batch, maybe compressed and encrypted.
    pub body: &'a [u8],
    /// Everything but the broker entry part.
    sent: &'a [u8],
    /// What the checksum is of.
    checked: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Splits a payload part.
    pub fn parse(payload: &'a [u8]) -> Result<Self, PayloadError> {
        let mut rest = payload;
        let mut broker_entry = None;
        if let Some(tail) = rest.strip_prefix(&BROKER_ENTRY) {
            rest = tail;
            let size = u32_be(&mut rest, "broker entry metadata size")?;
            broker_entry = Some(split(&mut rest, size as usize, "broker entry metadata")?);
        }
        let sent = rest;
        let mut checksum = None;
        if let Some(tail) = rest.strip_prefix(&CHECKSUM) {
            rest = tail;
            checksum = Some(u32_be(&mut rest, "checksum")?);
        }
        let checked = rest;
        let size = u32_be(&mut rest, "metadata size")?;
        let metadata = split(&mut rest, size as usize, "metadata")?;
        Ok(Self { broker_entry, checksum, metadata, body: rest, sent, checked })
    }

    /// Compares the payload with its checksum; one without passes.
    pub fn verify(&self) -> Result<(), PayloadError> {
        let Some(stated) = self.checksum else { return Ok(()) };
        match checksum::crc32c(self.checked) {
            computed if computed == stated => Ok(()),
            computed => Err(PayloadError::Checksum { stated, computed }),
        }
    }

    /// The payload part without the broker entry metadata, as most clients must get it.
    #[must_use]
    pub fn without_broker_entry(&self) -> &'a [u8] {
        self.sent
    }

    /// The checksum part to send before [`without_broker_entry`](Self::without_broker_entry) to a client, `None` if
    /// the payload has one.
    #[must_use]
    pub fn missing_checksum(&self) -> Option<[u8; CHECKSUM_PART]> {
        if self.checksum.is_some() {
            return None;
        }
        let [a, b, c, d] = checksum::crc32c(self.checked).to_be_bytes();
        Some([CHECKSUM[0], CHECKSUM[1], a, b, c, d])
    }

    /// Decodes the broker entry metadata, `None` if there is none.
    pub fn decode_broker_entry(&self) -> Result<Option<BrokerEntryMetadata>, DecodeError> {
        self.broker_entry.map(|bytes| BrokerEntryMetadata::decode(bytes).map_err(DecodeError::from)).transpose()
    }
}

/// Writes a broker entry metadata part, to be followed by a payload part that has none.
pub fn put_broker_entry(metadata: &BrokerEntryMetadata, out: &mut impl BufMut) {
    out.put_slice(&BROKER_ENTRY);
    // Two numbers: their encoded size fits any integer.
    out.put_u32(metadata.encoded_len() as u32);
    // Growing buffers never run out of room.
    metadata.encode_raw(out);
}

fn split<'a>(rest: &mut &'a [u8], need: usize, part: &'static str) -> Result<&'a [u8], PayloadError> {
    let (taken, tail) = rest.split_at_checked(need).ok_or(PayloadError::Truncated { part, need, left: rest.len() })?;
    *rest = tail;
    Ok(taken)
}

fn u32_be(rest: &mut &[u8], part: &'static str) -> Result<u32, PayloadError> {
    let (taken, tail) = rest.split_first_chunk().ok_or(PayloadError::Truncated { part, need: 4, left: rest.len() })?;
    *rest = tail;
    Ok(u32::from_be_bytes(*taken))
}

#[cfg(test)]
mod tests;
