//! Finding out, at a start, what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::index::{IndexFile, OpenError as IndexError, PageCache};
use super::layout::{self, CEILING, DATA_START, FORMAT, Named, segment_name};
use super::seed::Seed;
use super::segment::{Index, Segment};
use super::{reindex, scan};
use crate::disk::{self, Disk, File};

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses the directory.
    #[error("the ledger directory is in use by another process: stop it, or use another directory")]
    InUse,
    /// A newer release has written the directory.
    #[error("the ledger directory has format {found}, this release reads up to {supported}: use a newer release")]
    NewerFormat {
        /// The format of the directory.
        found: u32,
        /// The newest format that is read.
        supported: u32,
    },
    /// The directory is something else.
    #[error("the ledger directory holds a file {FORMAT} that is not a ledger store's: use another directory")]
    Foreign,
    /// A setting makes no sense.
    #[error("{0}")]
    Config(&'static str),
    /// The disk failed.
    #[error("opening the ledger directory failed: {0}")]
    Io(#[from] io::Error),
}

impl OpenError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::InUse | Self::Io(_))
    }
}

/// What a directory holds.
pub(crate) struct Contents {
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Files that were prepared and not used: number, file and length.
    pub(crate) spares: Vec<(u64, Arc<dyn File>, u64)>,
    /// A number that no segment has had, nor any after it.
    pub(crate) next_segment: u64,
    /// A number that no ledger has had, nor any after it.
    pub(crate) next_ledger: u64,
    /// Damaged ranges: segment, offset, length.
    pub(crate) damage: Vec<(u64, u64, u64)>,
}

/// Keeps other processes out of the directory for as long as the returned value lives.
pub(crate) fn lock(disk: &dyn Disk) -> Result<Box<dyn Send + Sync>, OpenError> {
    disk.lock().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenError::InUse,
        _ => OpenError::Io(error),
    })
}

/// Checks that the directory is a store of a format this release reads, and makes it one if it is empty.
pub(crate) fn check_format(disk: &dyn Disk, create: bool) -> Result<(), OpenError> {
    match disk.open(FORMAT) {
        Ok(file) => match layout::parse_format(&disk::read_all(&*file)?) {
            Some(found) if found > layout::VERSION => Err(OpenError::NewerFormat { found, supported: layout::VERSION }),
            Some(_) => Ok(()),
            None => Err(OpenError::Foreign),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound && create => {
            Ok(disk::replace(disk, FORMAT, layout::format_text().as_bytes())?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads what is there, without changing anything.
pub(crate) fn read(disk: &dyn Disk, pages: &Arc<PageCache>, now: Duration) -> Result<Contents, OpenError> {
    let (mut numbers, mut indexes) = (BTreeSet::new(), BTreeMap::new());
    let mut greatest = 0;
    for name in disk.list()? {
        match Named::parse(&name) {
            Some(Named::Segment(number)) => {
                numbers.insert(number);
                greatest = greatest.max(number);
            }
            Some(Named::Index(number)) => {
                greatest = greatest.max(number);
                match IndexFile::open(disk.open(&name)?, number, Arc::clone(pages)) {
                    Ok(index) => drop(indexes.insert(number, index)),
                    Err(IndexError::Version(found)) => {
                        return Err(OpenError::NewerFormat { found, supported: layout::VERSION });
                    }
                    Err(IndexError::Io(error)) => return Err(error.into()),
                    Err(IndexError::Damaged) => tracing::warn!(name, "damaged, the segment is indexed anew"),
                }
            }
            None => {}
        }
    }
    indexes.retain(|number, _| numbers.contains(number));
    for replaced in indexes.values().flat_map(|index| index.replaces.iter()) {
        numbers.remove(replaced);
    }
    indexes.retain(|number, _| numbers.contains(number));

    let mut contents = Contents {
        segments: Vec::new(),
        spares: Vec::new(),
        next_segment: greatest + 1,
        next_ledger: read_ceiling(disk)?,
        damage: Vec::new(),
    };
    let mut unindexed = Vec::new();
    for &number in &numbers {
        let file = disk.open(&segment_name(number))?;
        match indexes.remove(&number) {
            Some(index) => contents.add_indexed(number, file, index, now)?,
            None => unindexed.push((number, file)),
        }
    }
    contents.add_unindexed(unindexed, now)?;
    Ok(contents)
}

/// Removes files that mean nothing: what a crash left half written, and what was replaced. Best effort: they mean
/// nothing at the next start either.
pub(crate) fn sweep(disk: &dyn Disk, contents: &Contents) -> io::Result<()> {
    let known: BTreeSet<u64> = contents
        .segments
        .iter()
        .map(|segment| segment.number)
        .chain(contents.spares.iter().map(|&(number, ..)| number))
        .collect();
    for name in disk.list()? {
        let superfluous = match Named::parse(&name) {
            Some(Named::Segment(number)) => !known.contains(&number),
            Some(Named::Index(number)) => !contents.segments.iter().any(|segment| segment.number == number),
            None => name.ends_with(disk::TEMPORARY),
        };
        if superfluous && let Err(error) = disk.remove(&name) {
            tracing::warn!(name, %error, "a file without use could not be removed");
        }
    }
    Ok(())
}

impl Contents {
    fn add_indexed(&mut self, number: u64, file: Arc<dyn File>, index: IndexFile, now: Duration) -> io::Result<()> {
        let about = index.about;
        let greatest = index.deletes.last().copied().max(index.last_ledger());
        self.next_ledger = self.next_ledger.max(greatest.map_or(0, |ledger| ledger + 1));
        let index = Index::File(index);
        let name = (number, Seed(about.seed));
        self.segments.push(Arc::new(Segment::finished(name, file, about.sorted, index, about.end, now)));
        Ok(())
    }

    /// Scans the segments without an index. How far one was synced is known from the next one of the same journal.
    fn add_unindexed(&mut self, files: Vec<(u64, Arc<dyn File>)>, now: Duration) -> io::Result<()> {
        let mut synced = BTreeMap::new();
        for (number, file) in &files {
            if let Some(header) = header(&**file, *number)? {
                synced.insert(header.previous.0, header.previous.1);
            }
        }
        for (number, file) in files {
            let synced = synced.get(&number).copied().unwrap_or(0);
            let Some((scanned, index)) = reindex::index(&*file, number, synced)? else {
                let length = file.length()?;
                self.spares.push((number, file, length));
                continue;
            };
            self.damage.extend(scanned.damage.iter().map(|damage| (number, damage.offset, damage.length)));
            let greatest = index.rows.keys().chain(&index.deletes).max();
            self.next_ledger = self.next_ledger.max(greatest.map_or(0, |ledger| ledger + 1));
            let (seed, index) = (scanned.header.seed, Index::Memory(index));
            self.segments.push(Arc::new(Segment::finished((number, seed), file, false, index, scanned.end, now)));
        }
        self.segments.sort_by_key(|segment| segment.number);
        Ok(())
    }
}

/// The header of segment `number`. When it is damaged, what matters of it is had from the batches. `None` when the file
/// was never written as that segment.
pub(crate) fn header(file: &dyn File, number: u64) -> io::Result<Option<layout::Header>> {
    let mut bytes = [0; DATA_START as usize];
    let read = file.read_at(&mut bytes, 0)?;
    let bytes = &bytes[..read];
    if let Some(header) = layout::Header::decode(bytes, number) {
        return Ok(Some(header));
    }
    // A dead segment that got this number and was not written since.
    if layout::Header::is_sound(bytes) {
        return Ok(None);
    }
    let seed = scan::find_seed(file, number)?;
    Ok(seed.map(|seed| layout::Header { segment: number, seed, journal: 0, previous: (0, 0) }))
}

/// The number in `CEILING`, or 1.
fn read_ceiling(disk: &dyn Disk) -> io::Result<u64> {
    let text = match disk.open(CEILING) {
        Ok(file) => disk::read_all(&*file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(std::str::from_utf8(&text).ok().and_then(|text| text.trim_end().parse().ok()).unwrap_or(1))
}
