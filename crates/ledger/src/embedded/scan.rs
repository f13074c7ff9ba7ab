//! Reading a segment without its index.

use std::io;

use memchr::memmem;

use super::batch::{self, Found, Records};
use super::layout::{self, DATA_START};
use super::seed::Seed;
use super::{open, record};
use crate::disk::{ALIGNMENT, File};

/// What a scan found beside the records.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) header: layout::Header,
    /// Where the last whole batch ends.
    pub(crate) end: u64,
    /// Ranges before `end` that hold something else than was written.
    pub(crate) damage: Vec<Damage>,
}

/// A damaged range of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// How far behind a broken batch's start a later one is looked for. More than any batch is long, as long as entries
/// are not longer than a few MiB.
const SEARCH: u64 = 16 << 20;

/// Reads all batches of segment `number` and shows their records to `visit`, in order. `synced` is how far the segment
/// is known to have been synced (0 if unknown): what is broken before is damage, not a torn end.
///
/// Returns `None` when the file is no segment of that number: a spare, or one whose first batch was never synced.
pub(crate) fn scan(
    file: &dyn File,
    number: u64,
    synced: u64,
    mut visit: impl FnMut(Found<'_>),
) -> io::Result<Option<Scan>> {
    let mut window = Window::new(file);
    let Some(header) = open::header(file, number)? else { return Ok(None) };
    let mut scan = Scan { header, end: DATA_START, damage: Vec::new() };
    let mut sequence = 0;
    loop {
        if let Some((at, found)) = next_batch(&mut window, &header, scan.end, sequence)? {
            let start = at + batch::HEADER as u64;
            Records::new(window.get(start, found.length as usize)?, start, header.seed).for_each(&mut visit);
            scan.end = start + u64::from(found.length);
            sequence = found.sequence + 1;
            continue;
        }
        let later = later_batch(&mut window, &header, scan.end, sequence, synced)?;
        let sound_from = later.map_or(synced, |(at, _)| at);
        if sound_from > scan.end {
            let length = usize::try_from(sound_from - scan.end).map_err(io::Error::other)?;
            salvage(window.get(scan.end, length)?, scan.end, header.seed, &mut scan.damage, &mut visit);
            scan.end = sound_from;
        }
        match later {
            Some((_, found)) => sequence = found.sequence,
            None => return Ok(Some(scan)),
        }
    }
}

/// The batch that follows the one that ends at `end`, if it is whole, and where it begins.
fn next_batch(
    window: &mut Window<'_>,
    segment: &layout::Header,
    end: u64,
    sequence: u64,
) -> io::Result<Option<(u64, batch::Header)>> {
    if let Some(header) = whole_batch(window, segment, end)? {
        return Ok((header.sequence >= sequence).then_some((end, header)));
    }
    let at = batch::direct_start(end);
    let direct = whole_batch(window, segment, at)?;
    // Any other number means that the batch before it is broken.
    Ok(direct.filter(|header| header.sequence == sequence).map(|header| (at, header)))
}

/// The batch at `at` if it is whole.
fn whole_batch(window: &mut Window<'_>, segment: &layout::Header, at: u64) -> io::Result<Option<batch::Header>> {
    let Some(header) = batch::Header::decode(window.get(at, batch::HEADER)?, segment.tag()) else {
        return Ok(None);
    };
    let start = at + batch::HEADER as u64;
    let records = window.get(start, header.length as usize)?;
    Ok(header.verifies(records, start, segment.seed).then_some(header))
}

/// The first batch behind `after` whose header is sound and whose number is greater than that of the batch at `after`.
fn later_batch(
    window: &mut Window<'_>,
    segment: &layout::Header,
    after: u64,
    sequence: u64,
    synced: u64,
) -> io::Result<Option<(u64, batch::Header)>> {
    let until = synced.max(after + SEARCH);
    let mut at = after + 1;
    while at < until {
        let piece = window.get(at, STEP)?;
        if piece.len() < batch::HEADER {
            return Ok(None);
        }
        for found in memmem::find_iter(piece, &batch::MAGIC) {
            if let Some(header) = batch::Header::decode(&piece[found..], segment.tag())
                && header.sequence > sequence
            {
                return Ok(Some((at + found as u64, header)));
            }
        }
        // A header across the end of the piece is found in the next.
        at += (piece.len() - batch::HEADER + 1) as u64;
    }
    Ok(None)
}

/// The seed of segment `number`, from the first batch near its start that has a sound record of it.
pub(crate) fn find_seed(file: &dyn File, number: u64) -> io::Result<Option<Seed>> {
    let mut window = Window::new(file);
    let mut at = DATA_START;
    while at < SEARCH {
        let piece = window.get(at, STEP)?;
        if piece.len() < batch::HEADER {
            return Ok(None);
        }
        for found in memmem::find_iter(piece, &batch::MAGIC) {
            let seed = batch::Header::tag_of(&piece[found..]).map(|tag| Seed::of_tag(tag, number));
            let records = piece.get(found + batch::HEADER..).unwrap_or_default();
            if let Some(seed) = seed.filter(|&seed| record::Header::decode(records, seed).is_some()) {
                return Ok(Some(seed));
            }
        }
        at += (piece.len() - batch::HEADER + 1) as u64;
    }
    Ok(None)
}

/// Shows every record in `bytes` that has a sound header, and notes the rest as damage.
fn salvage(bytes: &[u8], offset: u64, seed: Seed, damage: &mut Vec<Damage>, visit: &mut impl FnMut(Found<'_>)) {
    let mut at = 0;
    let mut broken_from = None;
    while at < bytes.len() {
        let sound = record::Header::decode(&bytes[at..], seed)
            .and_then(|header| Some((header, bytes.get(at + record::HEADER..at + header.size())?)));
        let Some((header, body)) = sound else {
            if broken_from.is_none() {
                broken_from = Some(at);
            }
            at += if bytes[at..].starts_with(&batch::MAGIC) { batch::HEADER } else { 1 };
            continue;
        };
        if let Some(from) = broken_from.take() {
            note(damage, bytes, from, at, offset);
        }
        if !header.verifies(body) {
            damage.push(Damage { offset: offset + at as u64, length: header.size() as u64 });
        }
        visit(Found { header, offset: offset + at as u64, body });
        at += header.size();
    }
    if let Some(from) = broken_from {
        note(damage, bytes, from, bytes.len(), offset);
    }
}

/// Notes a range without records as damage, unless it is just what lies between the records of sound batches.
fn note(damage: &mut Vec<Damage>, bytes: &[u8], from: usize, to: usize, offset: u64) {
    if !is_between_records(&bytes[from..to], offset + from as u64) {
        damage.push(Damage { offset: offset + from as u64, length: (to - from) as u64 });
    }
}

/// Whether a range that begins at `offset` is what belongs between records: the zeros that fill a page, the zeros before
/// a header that ends a page, or a header alone.
fn is_between_records(bytes: &[u8], offset: u64) -> bool {
    let ends_page = (offset + bytes.len() as u64).is_multiple_of(ALIGNMENT as u64);
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    let rest = &bytes[zeros..];
    let is_header = rest.len() == batch::HEADER && rest.starts_with(&batch::MAGIC);
    (is_header && (zeros == 0 || ends_page && zeros < 2 * ALIGNMENT))
        || (rest.is_empty() && ends_page && zeros < ALIGNMENT)
}

/// How much is read at once.
const STEP: usize = 4 << 20;

/// A piece of a file in memory that moves forward.
struct Window<'a> {
    file: &'a dyn File,
    bytes: Vec<u8>,
    start: u64,
}

impl<'a> Window<'a> {
    fn new(file: &'a dyn File) -> Self {
        Self { file, bytes: Vec::new(), start: 0 }
    }

    /// The `length` bytes at `offset`; less at the end of the file.
    fn get(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let within = |window: &Self| {
            let from = usize::try_from(offset.checked_sub(window.start)?).ok()?;
            (from + length <= window.bytes.len()).then_some(from)
        };
        let from = match within(self) {
            Some(from) => from,
            None => {
                // A length in a broken header may be anything: no more memory than the file is long.
                let rest = usize::try_from(self.file.length()?.saturating_sub(offset)).map_err(io::Error::other)?;
                self.bytes.resize(length.max(STEP).min(rest), 0);
                let read = self.file.read_at(&mut self.bytes, offset)?;
                self.bytes.truncate(read);
                self.start = offset;
                0
            }
        };
        Ok(&self.bytes[from..self.bytes.len().min(from + length)])
    }
}
