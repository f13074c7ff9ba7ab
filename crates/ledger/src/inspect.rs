//! Looking into the directory of an embedded store that no process uses.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::disk::Disk;
use crate::embedded::{Offline, OpenError};
use crate::{Closed, Epoch, LedgerId};

/// What a store holds, and whether it is sound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many segments there are.
    pub segments: usize,
    /// How many ledgers there are.
    pub ledgers: usize,
    /// How many entries are sound.
    pub entries: u64,
    /// Their length, in bytes.
    pub bytes: u64,
    /// What is not sound.
    pub damage: Vec<Damage>,
}

/// Something in a segment that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: String,
    /// Where in it, in bytes; 0 for an entry of which not even that is known.
    pub offset: u64,
    /// How long, in bytes.
    pub length: u64,
    /// The ledger and the entry it concerns, if that is known.
    pub entry: Option<(LedgerId, u64)>,
}

/// A ledger of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Its number.
    pub id: LedgerId,
    /// The epoch that owns it.
    pub epoch: Epoch,
    /// Whether it is sealed.
    pub sealed: bool,
    /// Its last entry and its length.
    pub state: Closed,
    /// The segments that hold entries of it.
    pub segments: Vec<String>,
}

/// Reads every entry of a store and checks it against its checksum.
///
/// # Errors
/// [`OpenError`] when the directory is in use, is no store, or cannot be read.
pub fn verify(disk: &dyn Disk) -> Result<Report, OpenError> {
    let store = Offline::open(disk, Duration::ZERO)?;
    let mut report = Report { segments: store.segments(), ..Report::default() };
    for (file, offset, length) in store.damage() {
        report.damage.push(Damage { file, offset, length, entry: None });
    }
    store.for_each_entry(None, &mut |found| {
        match found.body {
            Some(body) => {
                report.entries += 1;
                report.bytes += body.len() as u64;
            }
            None => report.damage.push(Damage {
                file: found.file,
                offset: found.offset,
                length: found.length,
                entry: Some((found.ledger, found.entry)),
            }),
        }
        Ok(())
    })?;
    report.ledgers = store.ledgers()?.len();
    Ok(report)
}

/// The ledgers of a store, ascending.
///
/// # Errors
/// [`OpenError`] when the directory is in use, is no store, or cannot be read.
pub fn ls(disk: &dyn Disk) -> Result<Vec<Ledger>, OpenError> {
    Ok(Offline::open(disk, Duration::ZERO)?.ledgers()?)
}

/// Writes the entries of `ledger` in `range` to `out`, one a line: number, length, and the bytes in hexadecimal digits,
/// or `damaged`, apart by tabs. Returns how many there were.
///
/// # Errors
/// [`OpenError`] when the directory is in use, is no store, or cannot be read, or when `out` fails.
pub fn dump(
    disk: &dyn Disk,
    ledger: LedgerId,
    range: RangeInclusive<u64>,
    out: &mut dyn Write,
) -> Result<u64, OpenError> {
    let store = Offline::open(disk, Duration::ZERO)?;
    let mut lines = BTreeMap::new();
    store.for_each_entry(Some(ledger), &mut |found| {
        if range.contains(&found.entry) {
            let line = found.body.as_deref().map_or_else(|| "damaged".into(), hexadecimal);
            let length = found.body.map_or(0, |body| body.len());
            lines.insert(found.entry, (length, line));
        }
        Ok(())
    })?;
    for (entry, (length, line)) in &lines {
        writeln!(out, "{entry}\t{length}\t{line}")?;
    }
    Ok(lines.len() as u64)
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An entry as it was found in a segment.
pub(crate) struct Found {
    pub(crate) ledger: LedgerId,
    pub(crate) entry: u64,
    pub(crate) file: String,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The bytes, if they are what was written.
    pub(crate) body: Option<Vec<u8>>,
}

/// What is called for every entry.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(Found) -> io::Result<()>;
