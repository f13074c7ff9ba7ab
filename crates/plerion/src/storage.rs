//! `plerion storage`: looking into a data directory that no broker uses.

use std::io::Write;
use std::ops::RangeInclusive;

use plerion_ledger::disk::Directory;
use plerion_ledger::{LedgerId, inspect};

use crate::arguments::Storage;
use crate::data_directory::DataDirectory;
use crate::failure::Failure;

/// Does what was asked for; the answer goes to the standard output.
pub(crate) fn run(what: &Storage) -> Result<(), Failure> {
    let (Storage::Verify { directory } | Storage::Ls { directory } | Storage::Dump { directory, .. }) = what;
    let data = DataDirectory::existing(directory)?;
    let disk = Directory::existing(data.ledgers())
        .map_err(|cause| Failure::System { what: "open the directory of the ledgers", cause })?;
    let mut out = std::io::stdout().lock();
    match what {
        Storage::Verify { .. } => verify(&disk, &mut out),
        Storage::Ls { .. } => ls(&disk, &mut out),
        Storage::Dump { ledger, entries, .. } => {
            let range = entries.as_deref().map_or(Ok(0..=u64::MAX), parse_range)?;
            inspect::dump(&disk, LedgerId(*ledger), range, &mut out)?;
            Ok(())
        }
    }
}

fn verify(disk: &Directory, out: &mut dyn Write) -> Result<(), Failure> {
    let report = inspect::verify(disk)?;
    writeln!(
        out,
        "{} segments, {} ledgers, {} sound entries, {} bytes",
        report.segments, report.ledgers, report.entries, report.bytes
    )
    .map_err(Failure::Output)?;
    for damage in &report.damage {
        let whose = damage.entry.map(|(ledger, entry)| format!("ledger {ledger} entry {entry}"));
        let whose = whose.as_deref().unwrap_or("no entry that can be told");
        writeln!(out, "damaged: {} at {}, {} bytes: {whose}", damage.file, damage.offset, damage.length)
            .map_err(Failure::Output)?;
    }
    match report.damage.len() {
        0 => Ok(()),
        places => Err(Failure::Damaged(places)),
    }
}

fn ls(disk: &Directory, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "ledger\tepoch\tstate\tlast\tbytes\tsegments").map_err(Failure::Output)?;
    for ledger in inspect::ls(disk)? {
        let state = if ledger.sealed { "sealed" } else { "open" };
        let last = ledger.state.last.map_or_else(|| "-".to_owned(), |last| last.to_string());
        let segments = ledger.segments.join(",");
        writeln!(out, "{}\t{}\t{state}\t{last}\t{}\t{segments}", ledger.id, ledger.epoch.0, ledger.state.length)
            .map_err(Failure::Output)?;
    }
    Ok(())
}

/// `5`, `5-`, `-9` or `5-9`.
fn parse_range(text: &str) -> Result<RangeInclusive<u64>, Failure> {
    let bound = |text: &str, empty: u64| if text.is_empty() { Some(empty) } else { text.parse().ok() };
    let range = match text.split_once('-') {
        None => text.parse().ok().map(|entry| entry..=entry),
        Some((first, last)) => bound(first, 0).zip(bound(last, u64::MAX)).map(|(first, last)| first..=last),
    };
    range.ok_or_else(|| Failure::EntryRange(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_entries() {
        for (text, range) in [("5", 5..=5), ("5-", 5..=u64::MAX), ("-9", 0..=9), ("5-9", 5..=9)] {
            assert_eq!(parse_range(text).expect(text), range);
        }
        for bad in ["", "x", "1-y", "1-2-3"] {
            assert!(matches!(parse_range(bad), Err(Failure::EntryRange(_))), "{bad}");
        }
    }
}
