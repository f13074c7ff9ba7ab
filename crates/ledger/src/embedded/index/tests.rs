use std::io::{self, IoSlice};
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::page::{PAGE, PageCache};
use super::writer::About;
use super::*;
use crate::disk::File;

/// A file in memory.
#[derive(Default)]
struct Buffer(Mutex<Vec<u8>>);

impl File for Buffer {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.0.lock();
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&self, _: &[IoSlice<'_>], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.lock().len() as u64)
    }

    fn reserve(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn will_read(&self, _: u64, _: u64) {}

    fn will_not_read(&self, _: u64, _: u64) {}
}

const ABOUT: About = About { segment: 7, seed: 0xfeed, end: 12345, sorted: false };

fn open(bytes: Vec<u8>, pages: &Arc<PageCache>) -> Result<IndexFile, OpenError> {
    IndexFile::open(Arc::new(Buffer(Mutex::new(bytes))), 7, Arc::clone(pages))
}

/// Per ledger: the first entry, whether it is sealed, and for each entry whether it is lost.
fn ledgers() -> impl Strategy<Value = Vec<(u64, u64, bool, Vec<bool>)>> {
    let ledger = (1..2000u64, 0..50u64, any::<bool>(), proptest::collection::vec(proptest::bool::weighted(0.1), 0..40));
    proptest::collection::vec(ledger, 0..200)
}

fn build(ledgers: &[(u64, u64, bool, Vec<bool>)]) -> MemoryIndex {
    let mut index = MemoryIndex::default();
    let mut offset = 64;
    for (ledger, first, sealed, entries) in ledgers {
        if index.rows.contains_key(ledger) {
            continue;
        }
        let row = index.row(*ledger);
        row.epoch = Epoch(*first);
        row.sealed = sealed.then_some(Closed { last: first.checked_sub(1), length: 99 });
        for (entry, &lost) in (*first..).zip(entries) {
            let place = if lost { Place::LOST } else { Place { offset, size: 40 } };
            row.push(entry, place);
            offset += 40;
        }
    }
    index.deletes = vec![9, 3, 9];
    index
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_answers_as_the_index_in_memory_did(ledgers in ledgers()) {
        let memory = build(&ledgers);
        let pages = PageCache::new(4 * PAGE);
        let file = open(encode(ABOUT, &memory, &[4, 2]), &pages).unwrap();
        prop_assert_eq!(file.about, ABOUT);
        prop_assert_eq!(&file.deletes, &[3, 9]);
        prop_assert_eq!(&file.replaces, &[4, 2]);
        prop_assert_eq!(file.last_ledger(), memory.rows.keys().max().copied());
        for ledger in 0..2001 {
            let found = file.find(ledger).unwrap();
            prop_assert_eq!(found.map(|(summary, _)| summary), memory.summary(ledger), "ledger {}", ledger);
            if let Some((summary, position)) = found {
                let mut places = Vec::new();
                file.places(position, summary.count as usize, &mut places).unwrap();
                prop_assert_eq!(&places, &memory.rows[&ledger].places);
            }
        }
        let mut seen = Vec::new();
        file.for_each(|summary, _| seen.push(summary.ledger)).unwrap();
        let mut all: Vec<u64> = memory.rows.keys().copied().collect();
        all.sort_unstable();
        prop_assert_eq!(seen, all);
        prop_assert!(pages.len() <= 5, "{} pages are kept", pages.len());
    }

    #[test]
    fn a_flipped_bit_is_an_error_and_never_another_answer(ledgers in ledgers(), at: prop::sample::Index, bit in 0..8u8) {
        let memory = build(&ledgers);
        let mut bytes = encode(ABOUT, &memory, &[]);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let Ok(file) = open(bytes, &PageCache::new(PAGE)) else { return Ok(()) };
        for (&ledger, row) in &memory.rows {
            let Ok(found) = file.find(ledger) else { continue };
            prop_assert_eq!(found.map(|(summary, _)| summary), memory.summary(ledger));
            let mut places = Vec::new();
            if let Some((summary, position)) = found && file.places(position, summary.count as usize, &mut places).is_ok() {
                prop_assert_eq!(&places, &row.places);
            }
        }
    }
}

#[test]
fn a_gap_is_lost_entries_and_an_entry_is_taken_once() {
    let mut row = Row::default();
    let place = |offset| Place { offset, size: 33 };
    row.push(5, place(1));
    row.push(8, place(2));
    row.push(8, place(3));
    row.push(4, place(4));
    row.push(u64::MAX, place(5));
    assert_eq!((row.first, row.bytes), (5, 2));
    row.push(7, place(9));
    assert_eq!(row.places, [place(1), Place::LOST, place(9), place(2)]);
    let mut row = Row::default();
    row.push(5, place(1));
    row.push(8, place(2));
    assert_eq!(row.places, [place(1), Place::LOST, Place::LOST, place(2)]);
}
