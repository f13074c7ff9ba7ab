//! Rewriting segments: what is live in some goes into one, sorted by ledger.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use super::engine::Engine;
use super::index::{MemoryIndex, Place, Summary};
use super::layout::{self, DATA_START, segment_name};
use super::record::{self, Control, HEADER};
use super::segment::{Index, Segment};
use super::upkeep::{Live, Upkeep, write_index};
use super::{batch, seed::Seed};
use crate::disk::{File, TEMPORARY};

/// A segment that has rested long enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) number: u64,
    pub(super) sorted: bool,
    /// Its length in bytes.
    pub(super) size: u64,
    pub(super) live: Live,
}

/// Ledgers that have this much in a segment are read fast enough as they are.
const LONG: u64 = 1 << 20;

/// Which segments to rewrite into one of at most about `room` bytes: those that are mostly dead, and those whose
/// ledgers lie in short pieces. A segment is not rewritten for the same reason twice.
pub(super) fn choose(candidates: &[Candidate], room: u64) -> Vec<u64> {
    let mut chosen = Vec::new();
    let mut bytes = 0;
    for candidate in candidates {
        let Live { rows, bytes: live } = candidate.live;
        let mostly_dead = live < candidate.size / 2 && !(candidate.sorted && candidate.size < room / 16);
        let in_pieces = !candidate.sorted && live / rows.max(1) < LONG;
        if (mostly_dead || in_pieces) && (chosen.is_empty() || bytes + live <= room) {
            chosen.push(candidate.number);
            bytes += live;
        }
    }
    chosen
}

/// Rewrites `old`, or some of them, into one new segment and removes them.
pub(super) fn rewrite(upkeep: &mut Upkeep, old: Vec<Arc<Segment>>) -> io::Result<()> {
    let engine = Arc::clone(&upkeep.engine);
    let (old, rows) = without_gaps(&engine, old)?;
    let mut deletes = Vec::new();
    for segment in &old {
        deletes.extend(upkeep.needed_deletes(segment)?);
    }
    let number = engine.supply.next_number();
    let copied = copy(&engine, number, &old, &rows, &deletes);
    let segment = match copied {
        Ok(Some(segment)) => segment,
        other => {
            // The next start would remove it as well.
            let _ = engine.disk.remove(&temporary_name(number));
            return other.map(|_| ());
        }
    };
    let numbers: Vec<u64> = old.iter().map(|segment| segment.number).collect();
    write_index(&engine, &segment, &numbers)?;
    // Ledgers deleted while they were copied are held by the new segment too.
    for summary in segment.summaries()? {
        engine.deleted.recount(summary.ledger);
    }
    let bytes = segment.end();
    upkeep.retire(&old, Some(Arc::new(segment)))?;
    engine.metrics.rewritten_bytes.add(bytes);
    Ok(())
}

/// What a segment holds of a ledger, and which of the old segments that is.
type Row = (Summary, usize);

/// The live rows of `old` by ledger and entry, each with the index of its segment. A segment has one range of entries
/// per ledger: where two of `old` have parts of a ledger whose middle is elsewhere, the latter is left out.
fn without_gaps(engine: &Engine, mut old: Vec<Arc<Segment>>) -> io::Result<(Vec<Arc<Segment>>, Vec<Row>)> {
    loop {
        let mut rows: Vec<Row> = Vec::new();
        for (index, segment) in old.iter().enumerate() {
            let summaries = engine.checked(segment, Segment::summaries)?;
            let live = summaries.into_iter().filter(|summary| !engine.deleted.contains(summary.ledger));
            rows.extend(live.map(|summary| (summary, index)));
        }
        rows.sort_by_key(|(summary, _)| (summary.ledger, summary.first));
        match gap(&rows) {
            Some(index) => drop(old.remove(index)),
            None => return Ok((old, rows)),
        }
    }
}

/// The segment of the first row that does not follow on the one of the same ledger before it.
fn gap(rows: &[Row]) -> Option<usize> {
    let mut end: Option<(u64, u64)> = None;
    for (summary, segment) in rows.iter().filter(|(summary, _)| summary.count > 0) {
        if end.is_some_and(|(ledger, end)| ledger == summary.ledger && end < summary.first) {
            return Some(*segment);
        }
        end = Some((summary.ledger, summary.first + u64::from(summary.count)));
    }
    None
}

/// The name of a segment until all of it is there: a start must not find half of one.
fn temporary_name(number: u64) -> String {
    segment_name(number) + TEMPORARY
}

/// Copies what is live. `None` when the store is being closed.
fn copy(
    engine: &Engine,
    number: u64,
    old: &[Arc<Segment>],
    rows: &[Row],
    deletes: &[u64],
) -> io::Result<Option<Segment>> {
    let file = engine.disk.create(&temporary_name(number))?;
    let mut copy = Copy::new(engine, number, &*file);
    for &ledger in deletes {
        copy.control(ledger, Control::Delete)?;
        copy.index.deletes.push(ledger);
    }
    for (summary, segment) in rows {
        if !copy.row(summary, &old[*segment])? {
            return Ok(None);
        }
    }
    copy.flush()?;
    let (index, end) = (copy.index, copy.end);
    file.sync()?;
    engine.disk.rename(&temporary_name(number), &segment_name(number))?;
    engine.disk.sync_names()?;
    file.will_not_read(0, end);
    let now = engine.clock.monotonic();
    Ok(Some(Segment::finished((number, engine.seed), file, true, Index::Memory(index), end, now)))
}

/// A segment that is being written from others.
struct Copy<'a> {
    engine: &'a Engine,
    file: &'a dyn File,
    header: layout::Header,
    seed: Seed,
    index: MemoryIndex,
    /// Where the last whole batch ends.
    end: u64,
    batches: u64,
    /// The records of the next batch.
    records: Vec<u8>,
    count: u32,
    sum: u64,
}

/// How long a batch gets.
const BATCH: usize = 1 << 20;

impl<'a> Copy<'a> {
    fn new(engine: &'a Engine, number: u64, file: &'a dyn File) -> Self {
        let header = layout::Header { segment: number, seed: engine.seed, journal: 0, previous: (0, 0) };
        Self {
            engine,
            file,
            header,
            seed: engine.seed,
            index: MemoryIndex::default(),
            end: DATA_START,
            batches: 0,
            records: Vec::new(),
            count: 0,
            sum: 0,
        }
    }

    /// Copies one ledger's part of a segment. Returns `false` when the store is being closed.
    fn row(&mut self, summary: &Summary, segment: &Segment) -> io::Result<bool> {
        let ledger = summary.ledger;
        let state = match summary.sealed {
            Some(closed) => Control::Seal(summary.epoch, closed),
            None => Control::Create(summary.epoch),
        };
        self.control(ledger, state)?;
        let row = self.index.row(ledger);
        row.created = true;
        row.epoch = row.epoch.max(summary.epoch);
        row.sealed = row.sealed.or(summary.sealed);
        let places = self.engine.checked(segment, |segment| {
            let mut places = Vec::new();
            segment.places(ledger, summary.first, summary.count as usize, &mut places)?;
            Ok(places)
        })?;
        let mut entry = summary.first;
        for now in super::read::stretches(&places) {
            let start = u64::from(now[0].offset);
            let length = (super::read::end(now[now.len() - 1]) - start) as usize;
            let mut bytes = vec![0; length];
            let read = segment.file.read_at(&mut bytes, start)?;
            segment.file.will_not_read(start, read as u64);
            for place in now {
                let from = (u64::from(place.offset) - start) as usize;
                self.entry((ledger, entry), bytes.get(from..from + place.size as usize), segment, *place)?;
                entry += 1;
            }
            if !self.pause(length as u64) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies an entry. One that is damaged is lost: it must not get a checksum that makes it look sound.
    fn entry(
        &mut self,
        (ledger, entry): (u64, u64),
        bytes: Option<&[u8]>,
        segment: &Segment,
        from: Place,
    ) -> io::Result<()> {
        let sound = bytes.filter(|_| !from.is_lost()).and_then(|bytes| {
            let header = record::Header::decode(bytes, segment.seed)?;
            let body = &bytes[HEADER..];
            (header.ledger == ledger && header.entry == entry && header.verifies(body)).then_some((header, body))
        });
        let Some((header, body)) = sound else {
            if !from.is_lost() {
                let (offset, size) = (u64::from(from.offset), u64::from(from.size));
                self.engine.report_damage(segment.number, offset, size, "an entry is lost");
            }
            self.index.row(ledger).push(entry, Place::LOST);
            return Ok(());
        };
        let offset = self.next_offset();
        let crc = record::copy(&mut self.records, self.seed, header, body);
        self.index.row(ledger).push(entry, Place { offset: offset as u32, size: header.size() as u32 });
        self.added(crc)
    }

    fn control(&mut self, ledger: u64, control: Control) -> io::Result<()> {
        let crc = record::encode_control(&mut self.records, self.seed, ledger, control);
        self.added(crc)
    }

    fn next_offset(&self) -> u64 {
        self.end + (batch::HEADER + self.records.len()) as u64
    }

    fn added(&mut self, crc: u32) -> io::Result<()> {
        self.count += 1;
        self.sum = self.sum.wrapping_add(u64::from(crc));
        if self.records.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Writes the batch. Nothing is synced before the end: until then the segment does not count.
    fn flush(&mut self) -> io::Result<()> {
        let header = batch::Header {
            length: self.records.len() as u32,
            records: self.count,
            tag: self.header.tag(),
            sequence: self.batches,
            sum: self.sum,
        }
        .encode();
        let first = (self.batches == 0).then(|| self.header.encode());
        let start = if first.is_some() { 0 } else { self.end };
        let first = first.as_ref().map_or(&[][..], |first| &first[..]);
        self.file.write_at(&[IoSlice::new(first), IoSlice::new(&header), IoSlice::new(&self.records)], start)?;
        self.end += (batch::HEADER + self.records.len()) as u64;
        self.batches += 1;
        self.records.clear();
        (self.count, self.sum) = (0, 0);
        Ok(())
    }

    /// Keeps to the rate. Returns whether to go on.
    fn pause(&self, bytes: u64) -> bool {
        let seconds = bytes as f64 / self.engine.config.rewrite_rate as f64;
        self.engine.upkeep.pause(Duration::from_secs_f64(seconds))
    }
}

#[cfg(test)]
mod tests;
