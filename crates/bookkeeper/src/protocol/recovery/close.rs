//! Writing the end down. Until that is confirmed, or another's end is read, nobody learns of it.

use std::sync::Arc;

use super::{Defect, Error, Out, Phase, Recovery};
use crate::directory::{Ask, Told};
use crate::ledger_metadata::{Segment, State};
use crate::protocol::Action;

impl Recovery {
    pub(super) fn close(&mut self, last: i64, length: i64, out: &mut Out) {
        let segments = self.closing_segments();
        let Some(stored) = &mut self.stored else { return };
        let metadata = &mut stored.metadata;
        metadata.state = State::Closed;
        metadata.last = last;
        metadata.length = length;
        metadata.segments.pop();
        metadata.segments.extend(segments);
        self.phase = Phase::Closing;
        self.ask_to_close(out);
    }

    fn closing_segments(&self) -> Vec<Segment> {
        let segments = self.write_back.segments.clone();
        let first = segments.first();
        let is_replaced = first.is_some_and(|first| first.ensemble != self.segment.ensemble);
        if self.config.defects.has(Defect::DropsReplacedSegment) && is_replaced {
            return vec![self.segment.clone()];
        }
        segments
    }

    fn ask_to_close(&self, out: &mut Out) {
        if let Some(stored) = &self.stored {
            let metadata = Arc::new(stored.metadata.clone());
            out.push(Action::Ask(Ask::Write { version: stored.version, metadata }));
        }
    }

    pub(super) fn close_told(&mut self, told: Told, out: &mut Out) {
        let Some(stored) = &self.stored else { return };
        match told {
            Told::Written(_) => {
                let metadata = stored.metadata.clone();
                self.done(metadata, out);
            }
            Told::Conflict | Told::Unknown => out.push(Action::Ask(Ask::Read)),
            Told::Found(found) => match found.metadata.state {
                // Another's end, or this one's if the answer was lost: either is the end.
                State::Closed if self.config.defects.has(Defect::RefusesWinner) => self.fail(Error::Refused, out),
                State::Closed => self.done(found.metadata.clone(), out),
                // The write did not arrive.
                State::InRecovery if found.version == stored.version => self.ask_to_close(out),
                // Somebody with a later term, or a repair of an earlier segment.
                State::InRecovery | State::Open => self.restart(out),
            },
            _ => {}
        }
    }
}
