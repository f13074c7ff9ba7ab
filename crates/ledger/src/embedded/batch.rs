//! A batch: what one write and one sync put into a segment.
//!
//! ```text
//! 0   4  magic
//! 4   u32 CRC32C of bytes 8..40
//! 8   u32 length of the records
//! 12  u32 number of records
//! 16  u64 tag of the segment, from its seed and number
//! 24  u64 number of the batch in its segment, from 0
//! 32  u64 sum of the records' header checksums
//! 40  records
//! ```
//! A batch follows the one before it, or, written past the page cache, its header ends at the end of the first page that
//! the one before it does not touch; zeros fill what is between. In such a batch some records begin with a page, behind
//! zeros, and zeros fill the last page.
//!
//! A batch counts as a whole. The tag keeps batches of a file's earlier life out, the sum keeps out its
//! records; neither needs a pass over the bytes by the thread that writes. Batch *n* + 1 is written only after batch
//! *n* was synced: what is broken before a sound later batch is damage, what is broken at the end was never
//! acknowledged.

use crc32c::crc32c;

use super::record::{self, le_u32, le_u64};
use super::seed::Seed;
use crate::disk::ALIGNMENT;

/// The length of a batch's header.
pub(crate) const HEADER: usize = 40;

/// How a batch begins.
pub(crate) const MAGIC: [u8; 4] = [0xB5, 0x9E, 0x50, 0x4C];

/// A batch's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) records: u32,
    pub(crate) tag: u64,
    pub(crate) sequence: u64,
    pub(crate) sum: u64,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[..4].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&self.length.to_le_bytes());
        out[12..16].copy_from_slice(&self.records.to_le_bytes());
        out[16..24].copy_from_slice(&self.tag.to_le_bytes());
        out[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        out[32..].copy_from_slice(&self.sum.to_le_bytes());
        let crc = crc32c(&out[8..]);
        out[4..8].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads the header at the start of `bytes`; `None` when there is none with that tag.
    pub(crate) fn decode(bytes: &[u8], tag: u64) -> Option<Self> {
        let bytes = bytes.get(..HEADER)?;
        if bytes[..4] != MAGIC || le_u32(bytes, 4)? != crc32c(&bytes[8..]) || le_u64(bytes, 16)? != tag {
            return None;
        }
        Some(Self {
            length: le_u32(bytes, 8)?,
            records: le_u32(bytes, 12)?,
            tag,
            sequence: le_u64(bytes, 24)?,
            sum: le_u64(bytes, 32)?,
        })
    }

    /// The tag of the sound header at the start of `bytes`, of whatever segment.
    pub(crate) fn tag_of(bytes: &[u8]) -> Option<u64> {
        let tag = le_u64(bytes, 16)?;
        Self::decode(bytes, tag).map(|header| header.tag)
    }

    /// Whether `records`, which lie at `offset` of the file, are the whole and unharmed records of this batch.
    pub(crate) fn verifies(&self, records: &[u8], offset: u64, seed: Seed) -> bool {
        let (mut count, mut sum) = (0, 0u64);
        for found in Records::new(records, offset, seed) {
            if !found.header.verifies(found.body) {
                return false;
            }
            count += 1;
            sum = sum.wrapping_add(u64::from(found.header.crc));
        }
        records.len() == self.length as usize && count == self.records && sum == self.sum
    }
}

/// Where the header of a batch goes that follows one that ends at `end` and is written past the page cache.
pub(crate) fn direct_start(end: u64) -> u64 {
    end.next_multiple_of(ALIGNMENT as u64) + (ALIGNMENT - HEADER) as u64
}

/// The records in a range of a segment that have a sound header; what is none is taken for padding.
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    offset: u64,
    seed: Seed,
    at: usize,
}

/// A record as it is met. The body may be damaged: whoever reads an entry verifies it.
pub(crate) struct Found<'a> {
    pub(crate) header: record::Header,
    /// Where it begins in the file.
    pub(crate) offset: u64,
    pub(crate) body: &'a [u8],
}

impl<'a> Records<'a> {
    /// The records in `bytes`, which lie at `offset` of the file.
    pub(crate) fn new(bytes: &'a [u8], offset: u64, seed: Seed) -> Self {
        Self { bytes, offset, seed, at: 0 }
    }

    /// The record at the place reached, if there is one.
    fn here(&self) -> Option<Found<'a>> {
        let header = record::Header::decode(&self.bytes[self.at..], self.seed)?;
        let body = self.bytes.get(self.at + record::HEADER..self.at + header.size())?;
        Some(Found { header, offset: self.offset + self.at as u64, body })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        while self.at < self.bytes.len() {
            if let Some(found) = self.here() {
                self.at += found.header.size();
                return Some(found);
            }
            let page = (self.offset + self.at as u64 + 1).next_multiple_of(ALIGNMENT as u64);
            self.at = (page - self.offset) as usize;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    const SEED: Seed = Seed(3);

    fn batch(bodies: &[&[u8]]) -> (Header, Vec<u8>) {
        let (mut records, mut sum) = (Vec::new(), 0u64);
        for (entry, body) in bodies.iter().enumerate() {
            sum += u64::from(record::encode(&mut records, SEED, 1, entry as u64, Body::from(*body)));
        }
        let length = records.len() as u32;
        (Header { length, records: bodies.len() as u32, tag: 5, sequence: 2, sum }, records)
    }

    #[test]
    fn a_header_is_of_one_tag_only() {
        let (header, records) = batch(&[b"a", b"b"]);
        assert_eq!(Header::decode(&header.encode(), 5), Some(header));
        assert_eq!(Header::decode(&header.encode(), 6), None);
        assert!(header.verifies(&records, HEADER as u64, SEED));
    }

    #[test]
    fn a_sound_record_of_another_batch_is_noticed() {
        let (header, mut records) = batch(&[b"new one", b"new two"]);
        let (_, stale) = batch(&[b"new one", b"old two"]);
        let half = records.len() / 2;
        records[half..].copy_from_slice(&stale[half..]);
        assert!(!header.verifies(&records, HEADER as u64, SEED));
    }

    #[test]
    fn every_flipped_byte_of_a_header_is_noticed() {
        let (header, _) = batch(&[b"a"]);
        for at in 0..HEADER {
            let mut bytes = header.encode();
            bytes[at] ^= 0x40;
            assert_eq!(Header::decode(&bytes, 5), None, "at {at}");
        }
    }
}
