//! A store that is only looked at.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::time::Duration;

use super::index::PageCache;
use super::layout::segment_name;
use super::located::Located;
use super::open::{self, Contents, OpenError};
use super::segment::Segment;
use crate::LedgerId;
use crate::disk::Disk;
use crate::inspect::{Found, Ledger, Visit};

/// The contents of a directory, which no other process can open meanwhile.
pub(crate) struct Offline {
    contents: Contents,
    deleted: HashSet<u64>,
    #[expect(dead_code, reason = "held for what dropping it does")]
    lock: Box<dyn Send + Sync>,
}

impl Offline {
    pub(crate) fn open(disk: &dyn Disk, now: Duration) -> Result<Self, OpenError> {
        let lock = open::lock(disk)?;
        open::check_format(disk, false)?;
        let contents = open::read(disk, &PageCache::new(1 << 20), now)?;
        let deleted = contents.segments.iter().flat_map(|segment| segment.deletes()).collect();
        Ok(Self { contents, deleted, lock })
    }

    pub(crate) fn segments(&self) -> usize {
        self.contents.segments.len()
    }

    /// Damage that concerns no known entry: file, offset, length.
    pub(crate) fn damage(&self) -> impl Iterator<Item = (String, u64, u64)> {
        self.contents.damage.iter().map(|&(segment, offset, length)| (segment_name(segment), offset, length))
    }

    /// The ledgers that are there, ascending.
    pub(crate) fn ledgers(&self) -> io::Result<Vec<Ledger>> {
        let mut found: BTreeMap<u64, (Located, Vec<String>)> = BTreeMap::new();
        for segment in &self.contents.segments {
            for summary in segment.summaries()?.iter().filter(|summary| !self.deleted.contains(&summary.ledger)) {
                let (located, segments) = found.entry(summary.ledger).or_insert_with(|| (Located::new(0), Vec::new()));
                located.add(*summary, segment.clone());
                if summary.count > 0 {
                    segments.push(segment_name(segment.number));
                }
            }
        }
        let ledgers = found.into_iter().map(|(ledger, (mut located, segments))| {
            located.sort();
            Ok(Ledger {
                id: LedgerId(ledger),
                epoch: located.epoch,
                sealed: located.sealed.is_some(),
                state: located.closed(ledger)?,
                segments,
            })
        });
        ledgers.collect()
    }

    /// Shows every entry, or those of one ledger, segment by segment.
    pub(crate) fn for_each_entry(&self, only: Option<LedgerId>, visit: Visit<'_>) -> io::Result<()> {
        for segment in &self.contents.segments {
            for summary in segment.summaries()? {
                let wanted = only.is_none_or(|only| only.0 == summary.ledger);
                if wanted && !self.deleted.contains(&summary.ledger) {
                    visit_row(segment, summary.ledger, summary.first, summary.count, visit)?;
                }
            }
        }
        Ok(())
    }
}

fn visit_row(segment: &Segment, ledger: u64, first: u64, count: u32, visit: Visit<'_>) -> io::Result<()> {
    let mut places = Vec::new();
    segment.places(ledger, first, count as usize, &mut places)?;
    for (entry, place) in (first..).zip(places) {
        let body = if place.is_lost() { None } else { segment.body(ledger, entry, place)? };
        visit(Found {
            ledger: LedgerId(ledger),
            entry,
            file: segment_name(segment.number),
            offset: u64::from(place.offset),
            length: u64::from(place.size),
            body,
        })?;
    }
    Ok(())
}
