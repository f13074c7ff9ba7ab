//! One segment: a file of batches, and where in it the entries are.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use super::index::{IndexFile, MemoryIndex, Place, Summary};
use super::record::{HEADER, Header};
use super::seed::Seed;
use crate::disk::File;

/// A segment that holds data.
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) seed: Seed,
    pub(crate) file: Arc<dyn File>,
    /// Whether the entries are sorted by ledger.
    pub(crate) sorted: bool,
    pub(crate) index: RwLock<Index>,
    /// When it was written last, in milliseconds of monotonic time; [`WRITING`] while it is written.
    finished: AtomicU64,
    /// Where the data ends.
    end: AtomicU64,
}

/// Where a segment's index is.
pub(crate) enum Index {
    Memory(MemoryIndex),
    File(IndexFile),
}

const WRITING: u64 = u64::MAX;

impl Segment {
    /// A segment that a journal writes.
    pub(crate) fn writing(number: u64, seed: Seed, file: Arc<dyn File>) -> Self {
        Self {
            number,
            seed,
            file,
            sorted: false,
            index: RwLock::new(Index::Memory(MemoryIndex::default())),
            finished: AtomicU64::new(WRITING),
            end: AtomicU64::new(super::layout::DATA_START),
        }
    }

    /// A segment that takes no more writes.
    pub(crate) fn finished(
        (number, seed): (u64, Seed),
        file: Arc<dyn File>,
        sorted: bool,
        index: Index,
        end: u64,
        now: Duration,
    ) -> Self {
        let segment = Self { sorted, index: RwLock::new(index), ..Self::writing(number, seed, file) };
        segment.finish(end, now);
        segment
    }

    /// Notes how far it is synced.
    pub(crate) fn synced(&self, end: u64) {
        self.end.store(end, Ordering::Release);
    }

    /// Notes that no more will be written.
    pub(crate) fn finish(&self, end: u64, now: Duration) {
        self.synced(end);
        self.finished.store(u64::try_from(now.as_millis()).unwrap_or(WRITING - 1), Ordering::Release);
    }

    /// Whether a journal writes it.
    pub(crate) fn is_written(&self) -> bool {
        self.finished.load(Ordering::Acquire) == WRITING
    }

    /// For how long it has not been written.
    pub(crate) fn rested(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_millis(self.finished.load(Ordering::Acquire)))
    }

    /// Where its synced data ends.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// What it knows of `ledger`.
    pub(crate) fn find(&self, ledger: u64) -> io::Result<Option<Summary>> {
        match &*self.index.read() {
            Index::Memory(index) => Ok(index.summary(ledger)),
            Index::File(index) => Ok(index.find(ledger)?.map(|(summary, _)| summary)),
        }
    }

    /// The body of the record at `place`, `None` when it is not what was written as that entry.
    pub(crate) fn body(&self, ledger: u64, entry: u64, place: Place) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; place.size as usize];
        let read = self.file.read_at(&mut bytes, u64::from(place.offset))?;
        let sound = read == bytes.len()
            && Header::decode(&bytes, self.seed).is_some_and(|header| {
                header.ledger == ledger && header.entry == entry && header.verifies(&bytes[HEADER..])
            });
        Ok(sound.then(|| bytes.split_off(HEADER)))
    }

    /// Adds the places of up to `count` entries of `ledger` from entry `first` on to `out`.
    pub(crate) fn places(&self, ledger: u64, first: u64, count: usize, out: &mut Vec<Place>) -> io::Result<()> {
        let skip = |summary: &Summary| first.checked_sub(summary.first).filter(|&skip| skip < u64::from(summary.count));
        match &*self.index.read() {
            Index::Memory(index) => {
                let Some(row) = index.rows.get(&ledger) else { return Ok(()) };
                if let Some(skip) = skip(&row.summary(ledger)) {
                    out.extend(row.places[skip as usize..].iter().take(count));
                }
                Ok(())
            }
            Index::File(index) => {
                let Some((summary, position)) = index.find(ledger)? else { return Ok(()) };
                match skip(&summary) {
                    Some(skip) => {
                        index.places(position + skip, count.min((u64::from(summary.count) - skip) as usize), out)
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// All it knows, by ledger if the index is a file, else in no order.
    pub(crate) fn summaries(&self) -> io::Result<Vec<Summary>> {
        let mut out = Vec::new();
        match &*self.index.read() {
            Index::Memory(index) => out.extend(index.rows.iter().map(|(&ledger, row)| row.summary(ledger))),
            Index::File(index) => index.for_each(|summary, _| out.push(summary))?,
        }
        Ok(out)
    }

    /// The ledgers with a deletion record in it.
    pub(crate) fn deletes(&self) -> Vec<u64> {
        match &*self.index.read() {
            Index::Memory(index) => index.deletes.clone(),
            Index::File(index) => index.deletes.clone(),
        }
    }

    /// Whether its index is still in memory.
    pub(crate) fn is_indexed_in_memory(&self) -> bool {
        matches!(&*self.index.read(), Index::Memory(_))
    }
}
