//! The index of a segment that takes no more writes.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use crc32c::crc32c;

use super::super::record::{le_u32, le_u64};
use super::page::{self, PAGE, PageCache};
use super::writer::{About, HEAD, MAGIC, PLACES_PER_PAGE, ROW, ROWS_PER_PAGE, SEALED, VERSION};
use super::{Place, Summary};
use crate::disk::File;
use crate::{Closed, Epoch};

/// An index file, of which only the head is in memory.
pub(crate) struct IndexFile {
    file: Arc<dyn File>,
    pages: Arc<PageCache>,
    /// Its number in the cache.
    cached_as: u64,
    pub(crate) about: About,
    /// Ledgers with a deletion record in the segment, ascending.
    pub(crate) deletes: Vec<u64>,
    /// The segments whose live content is in this one.
    pub(crate) replaces: Vec<u64>,
    rows: u64,
    /// The first ledger of every page of rows.
    fences: Vec<u64>,
    last_ledger: u64,
    rows_at: u64,
    places_at: u64,
}

/// Why an index file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("the head of the index is damaged")]
    Damaged,
    #[error("the index has version {0}, this release reads version {VERSION}")]
    Version(u32),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl IndexFile {
    /// Opens the index of `segment`.
    pub(crate) fn open(file: Arc<dyn File>, segment: u64, pages: Arc<PageCache>) -> Result<Self, OpenError> {
        let length = file.length()?;
        let mut head = vec![0; PAGE];
        let read = file.read_at(&mut head, 0)?;
        head.truncate(read);
        if head.get(..8) != Some(MAGIC) {
            return Err(OpenError::Damaged);
        }
        let number = |head: &[u8], index: usize| le_u64(head, 16 + 8 * index).ok_or(OpenError::Damaged);
        match le_u32(&head, 8) {
            Some(VERSION) => {}
            Some(other) => return Err(OpenError::Version(other)),
            None => return Err(OpenError::Damaged),
        }
        let (rows, deletes, replaces) = (number(&head, 3)?, number(&head, 5)?, number(&head, 6)?);
        let fences = rows.div_ceil(ROWS_PER_PAGE as u64);
        let lists = fences.checked_add(deletes).and_then(|sum| sum.checked_add(replaces));
        let head_length = lists
            .and_then(|lists| lists.checked_mul(8))
            .and_then(|bytes| bytes.checked_add(HEAD as u64 + 8))
            .filter(|&bytes| bytes <= length)
            .ok_or(OpenError::Damaged)? as usize;
        if head_length > head.len() {
            head.resize(head_length, 0);
            if file.read_at(&mut head, 0)? < head_length {
                return Err(OpenError::Damaged);
            }
        }
        let crc_at = head_length - 8;
        if le_u64(&head, crc_at) != Some(u64::from(crc32c(&head[..crc_at]))) || number(&head, 0)? != segment {
            return Err(OpenError::Damaged);
        }
        let mut lists = head[HEAD..crc_at].chunks_exact(8).filter_map(|bytes| le_u64(bytes, 0));
        let rows_at = head_length.next_multiple_of(PAGE) as u64;
        Ok(Self {
            cached_as: pages.next_file(),
            pages,
            about: About {
                segment,
                seed: number(&head, 1)?,
                end: number(&head, 2)?,
                sorted: le_u32(&head, 12) == Some(1),
            },
            fences: lists.by_ref().take(fences as usize).collect(),
            deletes: lists.by_ref().take(deletes as usize).collect(),
            replaces: lists.collect(),
            rows,
            last_ledger: number(&head, 4)?,
            rows_at,
            places_at: rows_at + fences * PAGE as u64,
            file,
        })
    }

    /// The greatest number of a ledger the segment knows of.
    pub(crate) fn last_ledger(&self) -> Option<u64> {
        (self.rows > 0).then_some(self.last_ledger)
    }

    /// What the segment knows of `ledger`, and where its places begin.
    pub(crate) fn find(&self, ledger: u64) -> io::Result<Option<(Summary, u64)>> {
        if self.rows == 0 || ledger > self.last_ledger || ledger < self.fences[0] {
            return Ok(None);
        }
        let number = self.fences.partition_point(|&first| first <= ledger) - 1;
        let page = self.cached_page(self.rows_at + (number * PAGE) as u64)?;
        let rows = self.rows_in(number);
        let found = binary_search(rows, |index| le_u64(&page, index * ROW).unwrap_or(u64::MAX).cmp(&ledger));
        Ok(found.and_then(|index| decode_row(&page[index * ROW..])))
    }

    /// Adds the places `from..from + count` to `out`.
    pub(crate) fn places(&self, from: u64, count: usize, out: &mut Vec<Place>) -> io::Result<()> {
        let (mut at, mut rest) = (from, count);
        while rest > 0 {
            let (number, index) = (at / PLACES_PER_PAGE as u64, (at % PLACES_PER_PAGE as u64) as usize);
            let page = self.cached_page(self.places_at + number * PAGE as u64)?;
            let some = rest.min(PLACES_PER_PAGE - index);
            out.extend(page[index * 8..(index + some) * 8].chunks_exact(8).map(decode_place));
            at += some as u64;
            rest -= some;
        }
        Ok(())
    }

    /// Shows all rows, by ledger, each with where its places begin. Reads past the cache.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(Summary, u64)) -> io::Result<()> {
        for number in 0..self.fences.len() {
            let page = self.load(self.rows_at + (number * PAGE) as u64)?;
            for index in 0..self.rows_in(number) {
                if let Some((summary, position)) = decode_row(&page[index * ROW..]) {
                    visit(summary, position);
                }
            }
        }
        Ok(())
    }

    fn rows_in(&self, page: usize) -> usize {
        (self.rows as usize - page * ROWS_PER_PAGE).min(ROWS_PER_PAGE)
    }

    fn cached_page(&self, offset: u64) -> io::Result<Bytes> {
        self.pages.get((self.cached_as, offset / PAGE as u64), || self.load(offset))
    }

    fn load(&self, offset: u64) -> io::Result<Bytes> {
        let mut bytes = vec![0; PAGE];
        let read = self.file.read_at(&mut bytes, offset)?;
        if read < PAGE || !page::is_sound(&bytes) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("index page at {offset} is damaged")));
        }
        Ok(Bytes::from(bytes))
    }
}

fn binary_search(length: usize, compare: impl Fn(usize) -> std::cmp::Ordering) -> Option<usize> {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low.midpoint(high);
        match compare(middle) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

fn decode_row(bytes: &[u8]) -> Option<(Summary, u64)> {
    let closed = Closed { last: le_u64(bytes, 40)?.checked_sub(1), length: le_u64(bytes, 48)? };
    let summary = Summary {
        ledger: le_u64(bytes, 0)?,
        epoch: Epoch(le_u64(bytes, 8)?),
        sealed: (le_u32(bytes, 16)? & SEALED != 0).then_some(closed),
        count: le_u32(bytes, 20)?,
        first: le_u64(bytes, 24)?,
        bytes: le_u64(bytes, 32)?,
    };
    Some((summary, le_u64(bytes, 56)?))
}

fn decode_place(bytes: &[u8]) -> Place {
    Place { offset: le_u32(bytes, 0).unwrap_or(0), size: le_u32(bytes, 4).unwrap_or(0) }
}
