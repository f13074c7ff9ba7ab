//! What all segments together know of a ledger.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::engine::Engine;
use super::id_hash::IdMap;
use super::index::{MemoryIndex, Summary};
use super::reindex;
use super::segment::Segment;
use crate::{Closed, Epoch};

/// A ledger's state and the segments its entries are in.
pub(crate) struct Located {
    pub(crate) epoch: Epoch,
    pub(crate) sealed: Option<Closed>,
    /// By first entry; extents overlap only where a crash left two copies.
    pub(crate) extents: Vec<Extent>,
    /// The version of the segments it was found in.
    pub(crate) version: u64,
}

/// A segment's part of a ledger: entries `first..end`.
pub(crate) struct Extent {
    pub(crate) first: u64,
    pub(crate) end: u64,
    bytes: u64,
    pub(crate) segment: Arc<Segment>,
}

impl Extent {
    /// The sum of the lengths of the entries from `from` on.
    fn bytes_from(&self, ledger: u64, from: u64) -> io::Result<u64> {
        let mut places = Vec::new();
        if let Some(count) = self.end.checked_sub(from) {
            self.segment.places(ledger, from, usize::try_from(count).unwrap_or(usize::MAX), &mut places)?;
        }
        Ok(places.iter().map(|place| place.body_length()).sum())
    }
}

impl Located {
    /// One behind the last entry.
    pub(crate) fn end(&self) -> u64 {
        match self.sealed {
            Some(closed) => closed.last.map_or(0, |last| last + 1),
            None => self.extents.iter().map(|extent| extent.end).max().unwrap_or(0),
        }
    }

    /// The state the ledger is in, or would be sealed in.
    pub(crate) fn closed(&self, ledger: u64) -> io::Result<Closed> {
        if let Some(closed) = self.sealed {
            return Ok(closed);
        }
        let (mut end, mut length) = (0, 0);
        for extent in self.extents.iter().filter(|extent| extent.end > extent.first) {
            // What is there twice counts once.
            length += if extent.first >= end { extent.bytes } else { extent.bytes_from(ledger, end)? };
            end = end.max(extent.end);
        }
        Ok(Closed { last: end.checked_sub(1), length })
    }

    /// The extents that hold `entry`: one, unless there are two copies.
    pub(crate) fn extents(&self, entry: u64) -> impl Iterator<Item = &Extent> {
        self.extents.iter().filter(move |extent| (extent.first..extent.end).contains(&entry))
    }
}

impl Engine {
    /// Looks `ledger` up in all segments. `None` when there is no such ledger.
    pub(crate) fn locate(&self, ledger: u64) -> io::Result<Option<Located>> {
        if self.deleted.contains(ledger) {
            return Ok(None);
        }
        let version = self.segments.version();
        let mut found = None;
        for segment in self.segments.all() {
            let Some(summary) = self.checked(&segment, |segment| segment.find(ledger))? else { continue };
            found.get_or_insert_with(|| Located::new(version)).add(summary, segment);
        }
        if let Some(located) = &mut found {
            located.sort();
        }
        Ok(found)
    }

    /// As [`locate`](Self::locate), from memory if it was looked up before and `entry` was there.
    pub(crate) fn locate_cached(&self, ledger: u64, entry: u64) -> io::Result<Option<Arc<Located>>> {
        if self.deleted.contains(ledger) {
            return Ok(None);
        }
        if let Some(located) = self.located.get(ledger, self.segments.version())
            && located.extents(entry).next().is_some()
        {
            return Ok(Some(located));
        }
        let located = self.locate(ledger)?.map(Arc::new);
        if let Some(located) = &located {
            self.located.insert(ledger, Arc::clone(located));
        }
        Ok(located)
    }

    /// Asks a segment's index; when it turns out damaged, the segment is indexed anew.
    pub(crate) fn checked<T>(&self, segment: &Segment, ask: impl Fn(&Segment) -> io::Result<T>) -> io::Result<T> {
        match ask(segment) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                reindex::rebuild(self, segment, &error)?;
                ask(segment)
            }
            answer => answer,
        }
    }
}

impl Located {
    pub(crate) fn new(version: u64) -> Self {
        Self { epoch: Epoch(0), sealed: None, extents: Vec::new(), version }
    }

    pub(crate) fn sort(&mut self) {
        self.extents.sort_by_key(|extent| extent.first);
    }

    /// Adds what a segment knows.
    pub(crate) fn add(&mut self, summary: Summary, segment: Arc<Segment>) {
        self.epoch = self.epoch.max(summary.epoch);
        self.sealed = self.sealed.or(summary.sealed);
        let (first, end) = (summary.first, summary.first + u64::from(summary.count));
        self.extents.push(Extent { first, end, bytes: summary.bytes, segment });
    }
}

/// Ledgers that were looked up lately.
#[derive(Default)]
pub(crate) struct LocatedCache {
    by_ledger: Mutex<IdMap<Arc<Located>>>,
}

/// How many ledgers are remembered. At the bound all are forgotten: looking one up anew is cheap.
const REMEMBERED: usize = 4096;

impl LocatedCache {
    fn get(&self, ledger: u64, version: u64) -> Option<Arc<Located>> {
        self.by_ledger.lock().get(&ledger).filter(|located| located.version == version).cloned()
    }

    fn insert(&self, ledger: u64, located: Arc<Located>) {
        let mut by_ledger = self.by_ledger.lock();
        if by_ledger.len() >= REMEMBERED {
            by_ledger.clear();
        }
        by_ledger.insert(ledger, located);
    }

    /// Forgets everything, so that no segment is kept open by it.
    pub(crate) fn clear(&self) {
        self.by_ledger.lock().clear();
    }
}

impl MemoryIndex {
    /// Takes out entries behind the end of ledgers that are sealed in this segment: they were written by a writer that
    /// was fenced or had failed.
    pub(crate) fn cut_sealed(&mut self) {
        for row in self.rows.values_mut() {
            let Some(closed) = row.sealed else { continue };
            let kept = closed.last.map_or(0, |last| (last + 1).saturating_sub(row.first));
            while row.places.len() as u64 > kept {
                row.pop();
            }
        }
    }
}
