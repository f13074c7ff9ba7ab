//! The thread of a journal: one write and one sync for everything that is queued.

use std::io::{self, IoSlice};
use std::sync::Arc;

use super::admit::Admission;
use super::batch::{Batch, Undo};
use super::room::Room;
use super::staging::Staging;
use super::{Command, Journal, Open, State};
use crate::disk::{ALIGNMENT, is_refusal};
use crate::embedded::batch;
use crate::embedded::engine::{Engine, cause};
use crate::embedded::inbox::Completion;
use crate::embedded::index::MemoryIndex;
use crate::embedded::layout;
use crate::embedded::record::Control;
use crate::embedded::segment::{Index, Segment};
use crate::{AppendError, LedgerId};

/// What a journal's thread owns.
pub(crate) struct Committer {
    pub(super) engine: Arc<Engine>,
    pub(super) number: usize,
    pub(super) active: Option<Active>,
    /// The segment before, and where its synced part ends.
    pub(super) previous: (u64, u64),
    /// Whether it has written a segment since the start.
    pub(super) started: bool,
    /// Ledgers whose writers failed and that are not sealed yet.
    failed: Vec<u64>,
    staging: Staging,
}

/// The segment that is written.
pub(super) struct Active {
    pub(super) segment: Arc<Segment>,
    pub(super) header: layout::Header,
    pub(super) end: u64,
    pub(super) length: u64,
    /// Up to where the file was written, in this life or before.
    pub(super) written: u64,
    pub(super) batches: u64,
    /// Whether the next segment was asked for.
    pub(super) asked: bool,
}

/// The last page a write touches is filled up with zeros: the kernel then need not read it first.
const PAGE: u64 = ALIGNMENT as u64;

/// A short write that extends the file extends it by this much: the writes after it find the space already written,
/// and their syncs need not commit a change of the file's length.
const STEP: u64 = 128 << 10;
static ZEROS: [u8; STEP as usize] = [0; STEP as usize];

impl Active {
    /// Up to where a batch that ends at `end` is filled with zeros.
    fn filled_by(&self, end: u64) -> u64 {
        let page = end.next_multiple_of(PAGE);
        let extends = page > self.written;
        if extends && end - self.end < STEP / 4 { page + STEP - PAGE } else { page }
    }
}

impl Committer {
    pub(crate) fn new(engine: Arc<Engine>, number: usize) -> Self {
        Self {
            engine,
            number,
            active: None,
            previous: (0, 0),
            started: false,
            failed: Vec::new(),
            staging: Staging::default(),
        }
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.engine.journals[self.number]
    }

    /// Works until the journal is stopped and its queue is empty.
    pub(crate) fn run(mut self) {
        let mut commands = Vec::new();
        let bytes = self.engine.config.batch_bytes;
        while self.engine.journals[self.number].take(&mut commands, bytes) {
            self.commit(&commands);
            commands.clear();
        }
        self.finish_active();
    }

    fn commit(&mut self, commands: &[Command]) {
        if commands.iter().any(|command| matches!(command, Command::Retry)) {
            self.retry();
        }
        let seals = self.failed.len() * Control::MAX;
        let bytes = batch::HEADER + seals + commands.iter().map(Command::size).sum::<usize>();
        let wants_direct = self.wants_direct(commands, bytes);
        let padding = if wants_direct { (commands.len() + 3) * ALIGNMENT } else { 0 };
        let room = self.make_room((bytes + padding) as u64, commands);
        // A segment's first batch is written with the segment's header.
        let is_direct =
            wants_direct && room == Room::Any && self.active.as_ref().is_some_and(|active| active.batches > 0);
        let batch = self.admit(commands, room, is_direct);
        if batch.parts.is_empty() {
            return self.settle(batch);
        }
        match self.write(&batch) {
            Ok(()) => self.settle(batch),
            Err(error) => self.fail(commands, batch, &error),
        }
    }

    /// Whether a batch of `bytes` is worth writing past the page cache: when it is long, and most of it need not be
    /// copied for that.
    fn wants_direct(&self, commands: &[Command], bytes: usize) -> bool {
        let in_pages = |command: &Command| match command {
            Command::Append(block) if block.pages.is_some() => block.bytes.len(),
            _ => 0,
        };
        bytes >= self.engine.config.direct_bytes && commands.iter().map(in_pages).sum::<usize>() > bytes / 2
    }

    fn admit(&mut self, commands: &[Command], room: Room, is_direct: bool) -> Batch {
        let journal = &self.engine.journals[self.number];
        let mut nowhere = Index::Memory(MemoryIndex::default());
        let mut guard = self.active.as_ref().map(|active| active.segment.index.write());
        let Index::Memory(index) = guard.as_deref_mut().unwrap_or(&mut nowhere) else {
            unreachable!("the index of a segment stays in memory while it is written")
        };
        let end = self.active.as_ref().map_or(0, |active| active.end);
        let takes_entries = room == Room::Any;
        let mut admission = Admission {
            open: journal.open.lock(),
            index,
            room,
            seed: self.engine.seed,
            version: self.engine.segments.version(),
            batch: Batch::new(end, is_direct),
            journal: self.number,
        };
        if takes_entries {
            admission.seal_failed(&std::mem::take(&mut self.failed));
        }
        for command in commands {
            admission.admit(command);
        }
        let mut batch = admission.batch;
        self.failed.append(&mut batch.failed);
        batch
    }

    /// Writes and syncs a batch.
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let active = self.active.as_mut().expect("a batch with records was given room");
        let started = self.engine.clock.monotonic();
        let header = batch::Header {
            length: (batch.end() - batch.start) as u32 - batch::HEADER as u32,
            records: batch.records,
            tag: active.header.tag(),
            sequence: active.batches,
            sum: batch.sum,
        }
        .encode();
        let file = &active.segment.file;
        let written = if batch.is_direct {
            file.write_direct(&self.staging.lay_out(&header, &batch.parts), batch.start + batch::HEADER as u64 - PAGE)?;
            self.engine.metrics.direct_batches.add(1);
            batch.end()
        } else {
            let filled = active.filled_by(batch.at).min(active.length).max(batch.at);
            let first = (active.batches == 0).then(|| active.header.encode());
            let start = if first.is_some() { 0 } else { batch.start };
            let mut parts = Vec::with_capacity(batch.parts.len() + 3);
            parts.extend(first.iter().map(|first| IoSlice::new(first)));
            parts.push(IoSlice::new(&header));
            parts.extend(batch.parts.iter().map(|part| IoSlice::new(&part.bytes)));
            parts.push(IoSlice::new(&ZEROS[..(filled - batch.at) as usize]));
            file.write_at(&parts, start)?;
            filled
        };
        active.segment.file.sync()?;

        let metrics = &self.engine.metrics;
        metrics.sync_latency.record_time(self.engine.clock.monotonic().saturating_sub(started));
        metrics.batch_entries.record(batch.entries);
        metrics.appends.add(batch.entries);
        metrics.bytes.add(batch.end() - active.end);
        active.end = batch.end();
        active.written = active.written.max(written);
        active.segment.synced(active.end);
        active.batches += 1;
        if !active.asked && active.end > active.length / 4 {
            active.asked = true;
            self.engine.preparation.raise();
        }
        Ok(())
    }

    /// Tells everyone that a batch is durable.
    fn settle(&mut self, mut batch: Batch) {
        if !batch.over.is_empty() {
            let mut open = self.journal().open.lock();
            for ledger in &batch.over {
                if open.get(ledger).is_some_and(Open::is_over) {
                    open.remove(ledger);
                }
            }
        }
        if !batch.deletes.is_empty() {
            batch.deletes.iter().for_each(|&ledger| self.engine.deleted.insert(ledger));
            // Whoever is refused waits for the space.
            if self.journal().refusal().is_some() {
                self.engine.upkeep.raise();
            }
        }
        batch.outbox.send();
    }

    /// Takes a batch back that could not be made durable, and fails the writers concerned: those with entries in it
    /// when nothing was written for want of room, all when the outcome is open. Never writes to the segment again.
    fn fail(&mut self, commands: &[Command], mut batch: Batch, error: &io::Error) {
        tracing::error!(journal = self.number, %error, "a batch could not be made durable");
        self.engine.metrics.failed_batches.add(1);
        let cause = cause(error);
        let refused = is_refusal(error);
        let mut concerned = self.take_back(&mut batch);
        let engine = Arc::clone(&self.engine);
        let journal = &engine.journals[self.number];
        let mut open = journal.open.lock();
        if !refused {
            concerned = open.keys().copied().collect();
        }
        batch.outbox.keep_refusals();
        for ledger in concerned {
            let Some(open) = open.get_mut(&ledger).filter(|open| matches!(open.state, State::Open)) else { continue };
            let error = if refused {
                AppendError::Unavailable(Arc::clone(&cause))
            } else {
                AppendError::Indeterminate { ledger: LedgerId(ledger), cause: Arc::clone(&cause) }
            };
            open.state = State::Failed(error.clone());
            self.failed.push(ledger);
            if let Some(writer) = &open.writer {
                batch.outbox.add(writer, Completion::Failed { ledger: LedgerId(ledger), error });
            }
        }
        drop(open);
        for command in commands {
            command.fail(self.number, &cause, refused, &mut batch.outbox);
        }
        self.finish_active();
        batch.outbox.send();
    }

    /// Undoes what was admitted, last first. Returns the ledgers that had entries in the batch.
    fn take_back(&mut self, batch: &mut Batch) -> Vec<u64> {
        let active = self.active.as_ref().expect("a batch with records was given room");
        let mut index = active.segment.index.write();
        let Index::Memory(index) = &mut *index else { return Vec::new() };
        let mut open = self.engine.journals[self.number].open.lock();
        let mut concerned = Vec::new();
        for undo in batch.undo.drain(..).rev() {
            if let Undo::Entry { ledger, .. } = undo
                && concerned.last() != Some(&ledger)
            {
                concerned.push(ledger);
            }
            if let Some(failed) = undo.apply(index, &mut open) {
                self.failed.push(failed);
            }
        }
        concerned
    }
}
