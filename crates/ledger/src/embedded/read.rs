//! Reading entries from segments.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::engine::{Engine, cause};
use super::index::Place;
use super::layout::segment_name;
use super::located::{Extent, Located};
use super::record::{HEADER, Header};
use super::segment::Segment;
use crate::{Entry, LedgerId, ReadError};

/// The most one call to the disk reads.
const STRETCH: usize = 1 << 20;

/// Entries that are not further apart than this are read together, with what lies between.
const GAP: usize = 32 << 10;

/// The most entries one call returns.
const MOST: usize = 4096;

/// What the kernel is asked to read ahead, in one piece: a dense read that comes into one asks for the next. To ask more
/// often costs a look at every page of it, each time.
const AHEAD: u64 = 2 << 20;

impl Engine {
    /// Reads entries `first..=last` of `ledger`, at least one, stopping after `max_bytes`, at damage or when enough
    /// for one call was read.
    pub(crate) fn read(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
    ) -> Result<Vec<Entry>, ReadError> {
        let failed = |error: io::Error| ReadError::Io { ledger, cause: cause(&error) };
        let located = self.locate_cached(ledger.0, first).map_err(failed)?.ok_or(ReadError::NoLedger(ledger))?;
        if first >= located.end() {
            return Err(ReadError::NoEntry { ledger, entry: first });
        }
        let last = last.min(located.end() - 1);
        let (mut entries, mut bytes) = (Vec::new(), 0);
        loop {
            let next = first + entries.len() as u64;
            let (more, end) = match self.read_from(&located, ledger, (next, last), max_bytes - bytes) {
                Ok(found) => found,
                Err(_) if !entries.is_empty() => break,
                Err(error) => return Err(error),
            };
            if !entries.is_empty() && bytes + more[0].bytes.len() > max_bytes {
                break;
            }
            bytes += more.iter().map(|entry| entry.bytes.len()).sum::<usize>();
            entries.extend(more);
            // What follows is in another segment, unless all that was wanted is here.
            let next = first + entries.len() as u64;
            if next != end || next > last || bytes >= max_bytes || entries.len() >= MOST {
                break;
            }
        }
        self.metrics.cold_entries.add(entries.len() as u64);
        Ok(entries)
    }

    /// Reads entries that follow each other in one segment, from the first copy that is sound. Returns them, at least
    /// one, with the number behind the last entry of the segment.
    fn read_from(
        &self,
        located: &Located,
        ledger: LedgerId,
        (first, last): (u64, u64),
        max_bytes: usize,
    ) -> Result<(Vec<Entry>, u64), ReadError> {
        let mut outcome = Err(lost(ledger, first, located));
        for extent in located.extents(first) {
            let found = self.read_extent(ledger, first, last.min(extent.end - 1), max_bytes, extent);
            outcome = found.map(|entries| (entries, extent.end));
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    fn read_extent(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
        extent: &Extent,
    ) -> Result<Vec<Entry>, ReadError> {
        let places = self
            .plan(ledger, first, last, max_bytes, extent)
            .map_err(|error| ReadError::Io { ledger, cause: cause(&error) })?;
        if places.is_empty() {
            let place = Arc::from(segment_name(extent.segment.number));
            return Err(ReadError::Corrupt { ledger, entry: first, place });
        }
        let mut entries = Vec::with_capacity(places.len());
        let stretches = stretches(&places);
        if stretches.len() > 1 {
            // All are under way before the first is waited for.
            for stretch in &stretches {
                let start = u64::from(stretch[0].offset);
                extent.segment.file.will_read(start, end(stretch[stretch.len() - 1]) - start);
            }
        }
        for now in stretches {
            match self.read_stretch(ledger, first + entries.len() as u64, now, &extent.segment, &mut entries) {
                Ok(()) => {}
                Err(_) if !entries.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    /// The places of the entries to read. Empty when the first one is lost.
    fn plan(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
        extent: &Extent,
    ) -> io::Result<Vec<Place>> {
        let count = usize::try_from(last - first).unwrap_or(MOST).saturating_add(1).min(MOST);
        let mut places = self.checked(&extent.segment, |segment| {
            let mut found = Vec::new();
            segment.places(ledger.0, first, count, &mut found)?;
            Ok(found)
        })?;
        let mut bytes = 0usize;
        let fitting = places.iter().take_while(|place| {
            bytes = bytes.saturating_add(place.body_length() as usize);
            bytes <= max_bytes && !place.is_lost()
        });
        let fitting = fitting.count();
        // The first entry is read however long it is.
        let least = usize::from(places.first().is_some_and(|place| !place.is_lost()));
        places.truncate(fitting.max(least));
        Ok(places)
    }

    /// Reads entries that lie together.
    fn read_stretch(
        &self,
        ledger: LedgerId,
        first: u64,
        places: &[Place],
        segment: &Segment,
        entries: &mut Vec<Entry>,
    ) -> Result<(), ReadError> {
        let (start, end) = (u64::from(places[0].offset), end(places[places.len() - 1]));
        let mut bytes = vec![0; (end - start) as usize];
        let read =
            segment.file.read_at(&mut bytes, start).map_err(|error| ReadError::Io { ledger, cause: cause(&error) })?;
        self.metrics.cold_bytes.add(read as u64);
        bytes.truncate(read);
        let used: usize = places.iter().map(|place| place.size as usize).sum();
        let dense = used * 2 >= bytes.len();
        if dense && start / AHEAD != end / AHEAD {
            segment.file.will_read((end / AHEAD + 1) * AHEAD, AHEAD);
        }
        let bytes = Bytes::from(bytes);
        for (id, place) in (first..).zip(places) {
            let from = (u64::from(place.offset) - start) as usize;
            let body = from + HEADER..from + place.size as usize;
            let sound = bytes.get(from..from + place.size as usize).is_some_and(|record| {
                Header::decode(record, segment.seed).is_some_and(|header| {
                    header.ledger == ledger.0 && header.entry == id && header.verifies(&record[HEADER..])
                })
            });
            if !sound {
                let offset = u64::from(place.offset);
                self.report_damage(segment.number, offset, u64::from(place.size), "checksum does not match");
                let place = Arc::from(format!("{} at {offset}", segment_name(segment.number)));
                return Err(ReadError::Corrupt { ledger, entry: id, place });
            }
            // An entry must not keep much more memory than it is long.
            let bytes = if dense { bytes.slice(body) } else { Bytes::copy_from_slice(&bytes[body]) };
            entries.push(Entry { id, bytes });
        }
        Ok(())
    }
}

/// Cuts `places` into what is read with one call each.
pub(super) fn stretches(places: &[Place]) -> Vec<&[Place]> {
    let mut start = places.first().map_or(0, |place| u64::from(place.offset));
    let together = |before: &Place, next: &Place| {
        let (end_before, next_start) = (end(*before), u64::from(next.offset));
        let near = next_start >= end_before && next_start - end_before <= GAP as u64;
        let together = near && end(*next) - start <= STRETCH as u64;
        if !together {
            start = next_start;
        }
        together
    };
    places.chunk_by(together).collect()
}

/// Where the record at `place` ends.
pub(super) fn end(place: Place) -> u64 {
    u64::from(place.offset) + u64::from(place.size)
}

/// The error for an entry that was there and cannot be found.
fn lost(ledger: LedgerId, entry: u64, located: &Located) -> ReadError {
    let before = located.extents.iter().rev().find(|extent| extent.first <= entry).or_else(|| located.extents.first());
    let place =
        before.map_or_else(|| Arc::from("a lost segment"), |extent| Arc::from(segment_name(extent.segment.number)));
    ReadError::Corrupt { ledger, entry, place }
}
