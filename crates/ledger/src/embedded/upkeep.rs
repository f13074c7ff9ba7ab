//! What is done in the background: indexes are written, space of deleted ledgers comes back.

use std::io;
use std::sync::Arc;

use super::engine::Engine;
use super::id_hash::IdMap;
use super::index::{IndexFile, encode};
use super::layout::{index_name, segment_name};
use super::rewrite::{self, Candidate};
use super::segment::{Index, Segment};
use super::supply::is_long_enough;
use super::{index, journal};
use crate::disk;

/// The state of the thread.
pub(crate) struct Upkeep {
    pub(super) engine: Arc<Engine>,
    /// What is live in each segment that takes no more writes, unless that is to be counted again.
    live: IdMap<Live>,
}

/// What a segment holds of ledgers that are not deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Live {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

impl Upkeep {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, live: IdMap::default() }
    }

    /// Works until stopped.
    pub(crate) fn run(mut self) {
        let mut failed = None;
        while self.engine.upkeep.wait(self.engine.config.upkeep_interval) {
            let error = self.round().err().map(|error| error.to_string());
            if let Some(error) = error.as_ref().filter(|_| error != failed) {
                tracing::warn!(error, "upkeep of the ledger store failed, it is tried again");
            }
            failed = error;
        }
        // What is indexed now need not be scanned at the next start.
        if let Err(error) = self.write_indexes() {
            tracing::debug!(%error, "an index could not be written at the end");
        }
    }

    fn round(&mut self) -> io::Result<()> {
        self.count_deleted()?;
        self.count_live()?;
        self.reclaim()?;
        self.engine.metrics.segments.set(self.engine.segments.len() as u64);
        for journal in &self.engine.journals {
            if journal.refusal().is_some() {
                // A journal that is stopped has no use for room.
                let _ = journal.push(journal::Command::Retry);
            }
        }
        self.engine.raise_ceiling()?;
        self.engine.supply.restock_reserve(self.engine.config.reserve_bytes)?;
        self.write_indexes()?;
        self.rewrite()
    }

    /// Finds the segments that hold something of the ledgers that were deleted lately.
    fn count_deleted(&mut self) -> io::Result<()> {
        let ledgers = self.engine.deleted.uncounted();
        // Nothing is added to a ledger once it is deleted: no later segment holds any of it.
        let segments = self.engine.segments.all();
        for ledger in ledgers {
            let mut holders = 0;
            for segment in &segments {
                if self.engine.checked(segment, |segment| segment.find(ledger))?.is_some() {
                    holders += 1;
                    self.live.remove(&segment.number);
                }
            }
            self.engine.deleted.set_holders(ledger, holders);
        }
        Ok(())
    }

    fn finished(&self) -> Vec<Arc<Segment>> {
        let mut segments = self.engine.segments.all();
        segments.retain(|segment| !segment.is_written());
        segments
    }

    fn count_live(&mut self) -> io::Result<()> {
        for segment in self.finished() {
            if self.live.contains_key(&segment.number) {
                continue;
            }
            let mut live = Live::default();
            for summary in self.engine.checked(&segment, Segment::summaries)? {
                if !self.engine.deleted.contains(summary.ledger) {
                    live.rows += 1;
                    live.bytes += summary.bytes;
                }
            }
            self.live.insert(segment.number, live);
        }
        Ok(())
    }

    /// Gives back the space of segments in which nothing is live.
    fn reclaim(&mut self) -> io::Result<()> {
        for segment in self.finished() {
            let dead = self.live.get(&segment.number).is_some_and(|live| live.rows == 0);
            if dead && self.needed_deletes(&segment)?.is_empty() {
                self.retire(&[segment], None)?;
            }
        }
        Ok(())
    }

    /// The deletion records of a segment that must outlive it.
    pub(super) fn needed_deletes(&self, segment: &Segment) -> io::Result<Vec<u64>> {
        let mut needed = segment.deletes();
        let mut failed = None;
        needed.retain(|&ledger| match self.engine.checked(segment, |segment| segment.find(ledger)) {
            Ok(here) => self.engine.deleted.is_needed(ledger, here.is_some()),
            Err(error) => {
                failed = Some(error);
                true
            }
        });
        failed.map_or(Ok(needed), Err)
    }

    /// Takes segments out, for one that replaces them if there is one, and removes their files. Only then are their
    /// deleted ledgers forgotten: a deletion record must not go before what it deletes.
    pub(super) fn retire(&mut self, old: &[Arc<Segment>], replacement: Option<Arc<Segment>>) -> io::Result<()> {
        let engine = Arc::clone(&self.engine);
        let mut held = Vec::new();
        for segment in old {
            held.extend(engine.checked(segment, Segment::summaries)?.iter().map(|summary| summary.ledger));
        }
        let numbers: Vec<u64> = old.iter().map(|segment| segment.number).collect();
        let replaced = replacement.is_some();
        engine.segments.replace(replacement, &numbers);
        engine.located.clear();
        for segment in old {
            self.live.remove(&segment.number);
            remove_if_there(&engine, &index_name(segment.number))?;
            if replaced || !self.recycle(segment) {
                remove_if_there(&engine, &segment_name(segment.number))?;
            }
            engine.metrics.segments_reclaimed.add(1);
        }
        engine.disk.sync_names()?;
        held.into_iter().for_each(|ledger| engine.deleted.release(ledger));
        Ok(())
    }

    /// Makes the file of a dead segment a spare one, if one is wanted and nobody reads it.
    fn recycle(&self, segment: &Arc<Segment>) -> bool {
        let engine = &self.engine;
        let wanted = engine.supply.ready() < engine.journals.len()
            && segment.file.length().is_ok_and(|length| is_long_enough(length, engine.config.segment_bytes));
        wanted
            && Arc::strong_count(segment) == 1
            && engine.supply.recycle(segment.number, Arc::clone(&segment.file)).is_ok()
    }

    /// Writes the indexes that are still in memory.
    fn write_indexes(&self) -> io::Result<()> {
        for segment in self.finished() {
            if segment.is_indexed_in_memory() {
                write_index(&self.engine, &segment, &[])?;
            }
        }
        Ok(())
    }

    /// Rewrites the segments that are due.
    fn rewrite(&mut self) -> io::Result<()> {
        let config = &self.engine.config;
        if config.rewrite_rate == 0 {
            return Ok(());
        }
        let now = self.engine.clock.monotonic();
        let segments = self.finished();
        let candidates: Vec<Candidate> = segments
            .iter()
            .filter(|segment| segment.rested(now) >= config.rewrite_after && !segment.is_indexed_in_memory())
            .filter_map(|segment| {
                let live = *self.live.get(&segment.number)?;
                Some(Candidate { number: segment.number, sorted: segment.sorted, size: segment.end(), live })
            })
            .collect();
        let chosen = rewrite::choose(&candidates, config.segment_bytes);
        let chosen: Vec<_> = segments.into_iter().filter(|segment| chosen.contains(&segment.number)).collect();
        if chosen.is_empty() { Ok(()) } else { rewrite::rewrite(self, chosen) }
    }
}

/// Writes the index of a segment and lets go of the one in memory. The file's appearance under its name is what makes
/// the segments in `replaces` superfluous.
pub(super) fn write_index(engine: &Engine, segment: &Segment, replaces: &[u64]) -> io::Result<()> {
    let about =
        index::About { segment: segment.number, seed: segment.seed.0, end: segment.end(), sorted: segment.sorted };
    let bytes = match &*segment.index.read() {
        Index::Memory(index) => encode(about, index, replaces),
        Index::File(_) => return Ok(()),
    };
    let name = index_name(segment.number);
    disk::replace(&*engine.disk, &name, &bytes)?;
    if segment.end() < engine.config.segment_bytes / 2 {
        // A segment that ended early holds space it will not need.
        segment.file.truncate(segment.end())?;
    }
    let file = engine.disk.open(&name)?;
    let file = IndexFile::open(file, segment.number, Arc::clone(&engine.pages)).map_err(io::Error::other)?;
    *segment.index.write() = Index::File(file);
    Ok(())
}

fn remove_if_there(engine: &Engine, name: &str) -> io::Result<()> {
    match engine.disk.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
