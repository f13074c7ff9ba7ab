//! How an index becomes a file.
//!
//! ```text
//! head    magic, version, counts, then three lists of u64: the first ledger of every page of rows, the ledgers with a
//!         deletion record, the segments this one replaces; then a CRC32C of all of it, filled up to a page
//! rows    pages of 64-byte rows, by ledger
//! places  pages of 8-byte places, in the order of the rows
//! ```

use crc32c::crc32c;

use super::page::{self, CONTENT, PAGE};
use super::{MemoryIndex, Place, Row};

pub(super) const MAGIC: &[u8; 8] = b"PLERIDX\n";
pub(super) const VERSION: u32 = 1;
pub(super) const HEAD: usize = 72;
pub(super) const ROW: usize = 64;
pub(super) const ROWS_PER_PAGE: usize = CONTENT / ROW;
pub(super) const PLACES_PER_PAGE: usize = CONTENT / 8;
pub(super) const SEALED: u32 = 1;

/// What the head of an index says of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) segment: u64,
    pub(crate) seed: u64,
    /// Where the segment's data ends.
    pub(crate) end: u64,
    /// Whether the segment's entries are sorted by ledger.
    pub(crate) sorted: bool,
}

/// The index file of a segment; `replaces` are the segments whose live content was copied into this one.
pub(crate) fn encode(about: About, index: &MemoryIndex, replaces: &[u64]) -> Vec<u8> {
    let mut rows: Vec<(u64, &Row)> = index.rows.iter().map(|(&ledger, row)| (ledger, row)).collect();
    rows.sort_unstable_by_key(|&(ledger, _)| ledger);
    let mut deletes = index.deletes.clone();
    deletes.sort_unstable();
    deletes.dedup();
    let fences: Vec<u64> = rows.iter().step_by(ROWS_PER_PAGE).map(|&(ledger, _)| ledger).collect();

    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&u32::from(about.sorted).to_le_bytes());
    let last = rows.last().map_or(0, |&(ledger, _)| ledger);
    let numbers = [about.segment, about.seed, about.end, rows.len() as u64, last];
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for list in [&deletes[..], replaces] {
        out.extend_from_slice(&(list.len() as u64).to_le_bytes());
    }
    debug_assert_eq!(out.len(), HEAD);
    for number in fences.iter().chain(&deletes).chain(replaces) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let crc = crc32c(&out);
    out.extend_from_slice(&u64::from(crc).to_le_bytes());
    out.resize(out.len().next_multiple_of(PAGE), 0);

    let mut position = 0;
    page::encode(
        &mut out,
        rows.iter().map(|&(ledger, row)| {
            let bytes = encode_row(ledger, row, position);
            position += row.places.len() as u64;
            bytes
        }),
    );
    page::encode(&mut out, rows.iter().flat_map(|(_, row)| &row.places).map(encode_place));
    out
}

fn encode_row(ledger: u64, row: &Row, position: u64) -> [u8; ROW] {
    let summary = row.summary(ledger);
    let closed = row.sealed;
    let mut out = [0; ROW];
    out[..8].copy_from_slice(&ledger.to_le_bytes());
    out[8..16].copy_from_slice(&summary.epoch.0.to_le_bytes());
    out[16..20].copy_from_slice(&if closed.is_some() { SEALED } else { 0 }.to_le_bytes());
    out[20..24].copy_from_slice(&summary.count.to_le_bytes());
    out[24..32].copy_from_slice(&summary.first.to_le_bytes());
    out[32..40].copy_from_slice(&summary.bytes.to_le_bytes());
    out[40..48].copy_from_slice(&closed.and_then(|closed| closed.last).map_or(0, |last| last + 1).to_le_bytes());
    out[48..56].copy_from_slice(&closed.map_or(0, |closed| closed.length).to_le_bytes());
    out[56..].copy_from_slice(&position.to_le_bytes());
    out
}

fn encode_place(place: &Place) -> [u8; 8] {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&place.offset.to_le_bytes());
    out[4..].copy_from_slice(&place.size.to_le_bytes());
    out
}
