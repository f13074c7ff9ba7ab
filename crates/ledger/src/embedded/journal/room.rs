//! Finding room for the next batch.

use std::io;
use std::sync::Arc;

use super::Command;
use super::commit::{Active, Committer};
use crate::Class;
use crate::embedded::batch;
use crate::embedded::block::Record;
use crate::embedded::layout::{self, DATA_START};
use crate::embedded::segment::Segment;
use crate::embedded::supply::Spare;

/// Where a batch can go.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Room {
    /// Into the current segment.
    Any,
    /// Only into space that is held back: messages are refused, for this reason.
    Reserved(Arc<str>),
    /// Nowhere.
    None(Arc<str>),
}

impl Committer {
    /// Sees to it that the current segment has room for the `bytes` of `commands`, or, while messages are refused, for
    /// those of them that are none.
    pub(super) fn make_room(&mut self, bytes: u64, commands: &[Command]) -> Room {
        let reason = match self.journal().refusal() {
            None if self.fits(bytes) => return Room::Any,
            None => {
                let config = &self.engine.config;
                let wanted = if self.started { config.segment_bytes } else { config.first_segment_bytes };
                match self.engine.supply.take(wanted, bytes + DATA_START) {
                    Ok(spare) => {
                        self.activate(spare);
                        return Room::Any;
                    }
                    Err(error) => self.refuse(&error),
                }
            }
            // Not tried at every batch, but when there may be room again.
            Some(reason) => reason,
        };
        let state = self.state_bytes(commands);
        if !self.fits(state)
            && let Some(spare) = self.engine.supply.take_reserve()
        {
            self.activate(spare);
        }
        if self.fits(state) { Room::Reserved(reason) } else { Room::None(reason) }
    }

    /// The most bytes a batch of `commands` takes without messages.
    fn state_bytes(&self, commands: &[Command]) -> u64 {
        let open = self.journal().open.lock();
        let is_state = |record: &&Record| open.get(&record.ledger).is_some_and(|open| open.class == Class::State);
        let bytes = commands.iter().map(|command| match command {
            Command::Append(block) => block.records.iter().filter(is_state).map(|record| record.size as usize).sum(),
            other => other.size(),
        });
        (batch::HEADER + bytes.sum::<usize>()) as u64
    }

    fn fits(&self, bytes: u64) -> bool {
        self.active.as_ref().is_some_and(|active| active.end + bytes <= active.length)
    }

    /// Ends the refusal of appends if a segment can be had.
    pub(super) fn retry(&mut self) {
        if self.journal().refusal().is_none() {
            return;
        }
        if let Ok(spare) = self.engine.supply.take(self.engine.config.segment_bytes, DATA_START) {
            self.activate(spare);
            *self.journal().refusal.write() = None;
            self.count_refusing();
            tracing::info!(journal = self.number, "appends are taken again");
        }
    }

    fn refuse(&mut self, error: &io::Error) -> Arc<str> {
        tracing::error!(journal = self.number, %error, "no segment can be had, appends are refused");
        let reason: Arc<str> = Arc::from(format!("no room for another segment: {error}"));
        *self.journal().refusal.write() = Some(Arc::clone(&reason));
        self.count_refusing();
        reason
    }

    fn count_refusing(&self) {
        let refusing = self.engine.journals.iter().filter(|journal| journal.refusal().is_some()).count();
        self.engine.metrics.refusing.set(refusing as u64);
    }

    /// Ends the current segment and goes on in `spare`.
    fn activate(&mut self, spare: Spare) {
        self.finish_active();
        let written = if spare.prepared { spare.length } else { 0 };
        if !spare.prepared {
            self.engine.metrics.unprepared_segments.add(1);
        }
        let segment = Arc::new(Segment::writing(spare.number, self.engine.seed, spare.file));
        self.engine.segments.replace(Some(Arc::clone(&segment)), &[]);
        self.engine.metrics.segments.set(self.engine.segments.len() as u64);
        self.started = true;
        let header = layout::Header {
            segment: spare.number,
            seed: self.engine.seed,
            journal: self.number as u32,
            previous: self.previous,
        };
        self.active =
            Some(Active { segment, header, end: DATA_START, length: spare.length, written, batches: 0, asked: false });
    }

    /// Hands the current segment over to upkeep.
    pub(super) fn finish_active(&mut self) {
        if let Some(active) = self.active.take() {
            self.previous = (active.segment.number, active.end);
            active.segment.finish(active.end, self.engine.clock.monotonic());
            self.engine.upkeep.raise();
        }
    }
}
