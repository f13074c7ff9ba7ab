//! Making a segment's index from the segment itself.

use std::io;

use super::batch::Found;
use super::engine::Engine;
use super::index::{MemoryIndex, Place};
use super::layout::segment_name;
use super::record::{Control, Kind};
use super::scan::{Scan, scan};
use super::segment::{Index, Segment};
use crate::disk::File;

/// Scans a segment and indexes what it holds. `None` when it holds nothing.
pub(crate) fn index(file: &dyn File, number: u64, synced: u64) -> io::Result<Option<(Scan, MemoryIndex)>> {
    let mut index = MemoryIndex::default();
    let scanned = scan(file, number, synced, |found| add(&mut index, &found))?;
    index.cut_sealed();
    Ok(scanned.map(|scan| (scan, index)))
}

fn add(index: &mut MemoryIndex, found: &Found<'_>) {
    let header = &found.header;
    if header.kind == Kind::Entry {
        let (Ok(offset), Ok(size)) = (u32::try_from(found.offset), u32::try_from(header.size())) else { return };
        index.row(header.ledger).push(header.entry, Place { offset, size });
        return;
    }
    match Control::decode(header.kind, found.body) {
        // A damaged body says nothing.
        _ if !header.verifies(found.body) => {}
        Some(Control::Create(epoch)) => {
            let row = index.row(header.ledger);
            row.created = true;
            row.epoch = row.epoch.max(epoch);
        }
        Some(Control::Seal(epoch, closed)) => {
            let row = index.row(header.ledger);
            row.epoch = row.epoch.max(epoch);
            row.sealed = row.sealed.or(Some(closed));
        }
        Some(Control::Delete) => index.deletes.push(header.ledger),
        None => {}
    }
}

/// Replaces a damaged index file of a segment by one in memory; upkeep writes it out again.
pub(super) fn rebuild(engine: &Engine, segment: &Segment, why: &io::Error) -> io::Result<()> {
    let mut current = segment.index.write();
    if matches!(&*current, Index::Memory(_)) {
        return Ok(());
    }
    tracing::warn!(file = segment_name(segment.number), %why, "the index is damaged, indexing the segment anew");
    let (scanned, rebuilt) = index(&*segment.file, segment.number, segment.end())?.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "neither index nor header of the segment are sound")
    })?;
    for damage in &scanned.damage {
        engine.report_damage(segment.number, damage.offset, damage.length, "found while indexing");
    }
    *current = Index::Memory(rebuilt);
    engine.upkeep.raise();
    Ok(())
}
