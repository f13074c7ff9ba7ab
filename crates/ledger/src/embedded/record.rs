//! What a segment holds: records, each able to prove itself.
//!
//! ```text
//! 0   u32 CRC32C, started from the seed, of bytes 4..32 and of the first `skip` bytes of the body
//! 4   u32 length of the body
//! 8   u32 CRC32C of the body after the first `skip` bytes
//! 12  u8  kind, u8 skip, u16 zero
//! 16  u64 ledger
//! 24  u64 entry
//! 32  body
//! ```
//! Numbers are little-endian. The body's checksum stands by itself so that a checksum the producer sent with the
//! message can be taken over without a second pass over the bytes.

use crc32c::{crc32c, crc32c_append};

use super::seed::Seed;
use crate::{Body, Closed, Epoch, Verified};

/// The length of a record's header.
pub(crate) const HEADER: usize = 32;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An entry.
    Entry = 1,
    /// The ledger exists, owned by an epoch.
    Create = 2,
    /// The ledger is sealed, by an epoch.
    Seal = 3,
    /// The ledger is deleted.
    Delete = 4,
}

/// A record's header, with a checksum that was found right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) ledger: u64,
    pub(crate) entry: u64,
    pub(crate) length: u32,
    skip: u8,
    body_crc: u32,
    /// The header's own checksum; the sum of those of a batch is in the batch's header.
    pub(crate) crc: u32,
}

/// Adds an entry's record to `out` and returns the header's checksum.
pub(crate) fn encode(out: &mut Vec<u8>, seed: Seed, ledger: u64, entry: u64, body: Body<'_>) -> u32 {
    let Verified { skip, crc32c } = body.verified.unwrap_or_else(|| Verified { skip: 0, crc32c: crc32c(body.bytes) });
    let skip = skip.min(u8::try_from(body.bytes.len()).unwrap_or(u8::MAX));
    put(out, seed, Header { kind: Kind::Entry, ledger, entry, length: 0, skip, body_crc: crc32c, crc: 0 }, body.bytes)
}

/// Adds a record without an entry to `out` and returns the header's checksum.
pub(crate) fn encode_control(out: &mut Vec<u8>, seed: Seed, ledger: u64, control: Control) -> u32 {
    let mut body = [0; 24];
    let (kind, used) = match control {
        Control::Create(epoch) => {
            body[..8].copy_from_slice(&epoch.0.to_le_bytes());
            (Kind::Create, 8)
        }
        Control::Seal(epoch, closed) => {
            body[..8].copy_from_slice(&epoch.0.to_le_bytes());
            body[8..16].copy_from_slice(&closed.last.map_or(0, |last| last + 1).to_le_bytes());
            body[16..].copy_from_slice(&closed.length.to_le_bytes());
            (Kind::Seal, 24)
        }
        Control::Delete => (Kind::Delete, 0),
    };
    let body = &body[..used];
    put(out, seed, Header { kind, ledger, entry: 0, length: 0, skip: 0, body_crc: crc32c(body), crc: 0 }, body)
}

/// Adds the record that was read as `header` and `body` to `out`, under another seed.
pub(crate) fn copy(out: &mut Vec<u8>, seed: Seed, header: Header, body: &[u8]) -> u32 {
    put(out, seed, header, body)
}

/// Writes a record; the length and the header's checksum are computed here.
fn put(out: &mut Vec<u8>, seed: Seed, header: Header, body: &[u8]) -> u32 {
    let mut bytes = [0; HEADER];
    let length = u32::try_from(body.len()).expect("a block bounds its records far below 4 GiB");
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    bytes[8..12].copy_from_slice(&header.body_crc.to_le_bytes());
    bytes[12] = header.kind as u8;
    bytes[13] = header.skip;
    bytes[16..24].copy_from_slice(&header.ledger.to_le_bytes());
    bytes[24..].copy_from_slice(&header.entry.to_le_bytes());
    let crc = header_crc(seed, &bytes, &body[..usize::from(header.skip)]);
    bytes[..4].copy_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&bytes);
    out.extend_from_slice(body);
    crc
}

fn header_crc(seed: Seed, header: &[u8], skipped: &[u8]) -> u32 {
    crc32c_append(crc32c_append(seed.of_records(), &header[4..HEADER]), skipped)
}

/// What a record without an entry says about its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Create(Epoch),
    Seal(Epoch, Closed),
    Delete,
}

impl Control {
    /// How many bytes the longest takes as a record.
    pub(crate) const MAX: usize = HEADER + 24;

    /// Reads the body of a record of kind `kind`; `None` when it is an entry or not of the right length.
    pub(crate) fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        match kind {
            Kind::Entry => None,
            Kind::Create => Some(Self::Create(Epoch(le_u64(body, 0)?))),
            Kind::Seal => {
                let closed = Closed { last: le_u64(body, 8)?.checked_sub(1), length: le_u64(body, 16)? };
                Some(Self::Seal(Epoch(le_u64(body, 0)?), closed))
            }
            Kind::Delete => Some(Self::Delete),
        }
    }
}

impl Header {
    /// Reads the record at the start of `bytes`. `None` when the header or its checksum is wrong, or `bytes` ends
    /// before the part of the body that the header's checksum covers.
    pub(crate) fn decode(bytes: &[u8], seed: Seed) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let kind = match header[12] {
            1 => Kind::Entry,
            2 => Kind::Create,
            3 => Kind::Seal,
            4 => Kind::Delete,
            _ => return None,
        };
        let (length, skip, crc) = (le_u32(header, 4)?, header[13], le_u32(header, 0)?);
        if u32::from(skip) > length {
            return None;
        }
        let covered = bytes.get(HEADER..HEADER + usize::from(skip))?;
        (header_crc(seed, header, covered) == crc).then_some(Self {
            kind,
            ledger: le_u64(header, 16)?,
            entry: le_u64(header, 24)?,
            length,
            skip,
            body_crc: le_u32(header, 8)?,
            crc,
        })
    }

    /// How many bytes the record takes.
    pub(crate) fn size(&self) -> usize {
        HEADER + self.length as usize
    }

    /// Whether `body` is what was written.
    pub(crate) fn verifies(&self, body: &[u8]) -> bool {
        body.len() == self.length as usize && crc32c(&body[usize::from(self.skip)..]) == self.body_crc
    }
}

pub(crate) fn le_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

pub(crate) fn le_u64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests;
