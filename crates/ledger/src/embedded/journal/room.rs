//! Finding room for the next batch.

use std::io;
use std::sync::Arc;

use super::commit::{Active, Committer};
use crate::embedded::layout::{self, DATA_START};
use crate::embedded::segment::Segment;
use crate::embedded::supply::Spare;

/// Where a batch can go.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Room {
    /// Into the current segment.
    Any,
    /// Into the reserve, which takes no entries.
    Reserved(Arc<str>),
    /// Nowhere.
    None(Arc<str>),
}

impl Committer {
    /// Sees to it that the current segment has room for `bytes`.
    pub(super) fn make_room(&mut self, bytes: u64) -> Room {
        let fits = self.active.as_ref().is_some_and(|active| active.end + bytes <= active.length);
        let refusal = self.journal().refusal();
        match refusal {
            None if fits => return Room::Any,
            Some(reason) if fits => return Room::Reserved(reason),
            _ => {}
        }
        let config = &self.engine.config;
        let wanted = if self.started { config.segment_bytes } else { config.first_segment_bytes };
        let least = bytes + DATA_START;
        let taken = match self.journal().refusal() {
            None => self.engine.supply.take(wanted, least),
            // Not asked for at every batch, but when there may be room again.
            Some(reason) => return self.use_reserve(reason, least),
        };
        match taken {
            Ok(spare) => {
                self.activate(spare);
                Room::Any
            }
            Err(error) => {
                let reason = self.refuse(&error);
                self.use_reserve(reason, least)
            }
        }
    }

    /// Ends the refusal of appends if a segment can be had.
    pub(super) fn retry(&mut self) {
        if self.journal().refusal().is_none() {
            return;
        }
        if let Ok(spare) = self.engine.supply.take(self.engine.config.segment_bytes, DATA_START) {
            self.activate(spare);
            *self.journal().refusal.write() = None;
            self.engine.metrics.refusing.set(0);
            tracing::info!(journal = self.number, "appends are taken again");
        }
    }

    fn refuse(&mut self, error: &io::Error) -> Arc<str> {
        tracing::error!(journal = self.number, %error, "no segment can be had, appends are refused");
        let reason: Arc<str> = Arc::from(format!("no room for another segment: {error}"));
        *self.journal().refusal.write() = Some(Arc::clone(&reason));
        self.engine.metrics.refusing.set(1);
        reason
    }

    fn use_reserve(&mut self, reason: Arc<str>, least: u64) -> Room {
        match self.engine.supply.take_reserve() {
            Some(spare) if spare.length >= least => {
                self.activate(spare);
                Room::Reserved(reason)
            }
            _ => Room::None(reason),
        }
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
