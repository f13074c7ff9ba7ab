//! The files of a store and how a segment begins.
//!
//! | Name | Holds |
//! |---|---|
//! | `FORMAT` | the version of the format, as text |
//! | `CEILING` | a number that the numbers of all ledgers are below, as text |
//! | `LOCK` | nothing; the process that uses the directory holds a lock on it |
//! | `<number>.segment` | a segment: this header, then batches |
//! | `<number>.index` | where the entries of a segment are that takes no more writes |

use crc32c::crc32c;

use super::record::{le_u32, le_u64};
use super::seed::Seed;

/// The version of the format that is written, and the newest that is read.
pub(crate) const VERSION: u32 = 1;

/// The name of the file that holds the version.
pub(crate) const FORMAT: &str = "FORMAT";

/// Where a segment's batches begin.
pub(crate) const DATA_START: u64 = 64;

const MAGIC: &[u8; 8] = b"PLERSEG\n";

/// The name of the file with a number that all ledgers' numbers are below, as text.
pub(crate) const CEILING: &str = "CEILING";

/// The name of segment `number`.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:016x}.segment")
}

/// The name of the index of segment `number`.
pub(crate) fn index_name(number: u64) -> String {
    format!("{number:016x}.index")
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Segment(u64),
    Index(u64),
}

impl Named {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (number, suffix) = name.split_once('.')?;
        let number = u64::from_str_radix(number, 16).ok()?;
        let named = match suffix {
            "segment" => Self::Segment(number),
            "index" => Self::Index(number),
            _ => return None,
        };
        (named.name() == name).then_some(named)
    }

    fn name(self) -> String {
        match self {
            Self::Segment(number) => segment_name(number),
            Self::Index(number) => index_name(number),
        }
    }
}

/// The contents of `FORMAT`.
pub(crate) fn format_text() -> String {
    format!("plerion ledger {VERSION}\n")
}

/// The version in the contents of `FORMAT`.
pub(crate) fn parse_format(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.strip_prefix("plerion ledger ")?.trim_end().parse().ok()
}

/// How a segment begins. It is written with the segment's first batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) segment: u64,
    pub(crate) seed: Seed,
    pub(crate) journal: u32,
    /// The segment its journal wrote before in the same life of the process, and where that one's synced part ends;
    /// zeros when there is none.
    pub(crate) previous: (u64, u64),
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; DATA_START as usize] {
        let mut out = [0; DATA_START as usize];
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&self.segment.to_le_bytes());
        out[24..28].copy_from_slice(&self.journal.to_le_bytes());
        out[32..40].copy_from_slice(&self.previous.0.to_le_bytes());
        out[40..48].copy_from_slice(&self.previous.1.to_le_bytes());
        out[48..56].copy_from_slice(&self.seed.0.to_le_bytes());
        let crc = crc32c(&out[16..]);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Whether `bytes` are the header of some segment.
    pub(crate) fn is_sound(bytes: &[u8]) -> bool {
        le_u64(bytes, 16).and_then(|number| Self::decode(bytes, number)).is_some()
    }

    /// What the segment's batches carry.
    pub(crate) fn tag(&self) -> u64 {
        self.seed.of_batches(self.segment)
    }

    /// Reads the header of segment `number`; `None` when the file holds none of it.
    pub(crate) fn decode(bytes: &[u8], number: u64) -> Option<Self> {
        let bytes = bytes.get(..DATA_START as usize)?;
        let sound = bytes[..8] == *MAGIC
            && le_u32(bytes, 8)? == VERSION
            && le_u32(bytes, 12)? == crc32c(&bytes[16..])
            && le_u64(bytes, 16)? == number;
        if !sound {
            return None;
        }
        Some(Self {
            segment: number,
            journal: le_u32(bytes, 24)?,
            previous: (le_u64(bytes, 32)?, le_u64(bytes, 40)?),
            seed: Seed(le_u64(bytes, 48)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_they_are_made() {
        for number in [0, 1, 0xabc, u64::MAX] {
            assert_eq!(Named::parse(&segment_name(number)), Some(Named::Segment(number)));
            assert_eq!(Named::parse(&index_name(number)), Some(Named::Index(number)));
        }
        for other in ["FORMAT", "1.segment", "0000000000000001.index.tmp", "000000000000000G.index", ""] {
            assert_eq!(Named::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_header_is_read_as_written_and_only_by_its_number() {
        let header = Header { segment: 9, seed: Seed(5), journal: 1, previous: (8, 4096) };
        assert_eq!(Header::decode(&header.encode(), 9), Some(header));
        assert_eq!(Header::decode(&header.encode(), 10), None);
        assert_eq!(Header::decode(&[0; 64], 0), None);
    }

    #[test]
    fn the_format_is_text() {
        assert_eq!(parse_format(format_text().as_bytes()), Some(VERSION));
        assert_eq!(parse_format(b"plerion ledger 7\n"), Some(7));
        assert_eq!(parse_format(b"something else"), None);
    }
}
