//! The thread that sends.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plerion_wire::encode::PONG;

use super::{BURST, Shared};
use crate::Error;
use crate::connection::Sender;
use crate::latency::Latencies;
use crate::pace::{Pace, sleep_until};
use crate::template::{Body, FIRST_SEQUENCE, Template};

/// Bytes after which a burst ends.
const BURST_BYTES: usize = 512 << 10;

/// Sends in turn to each producer, and for each producer with each key in turn.
pub(super) struct Writing<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) pace: Option<Pace>,
    pub(super) sender: Sender,
    pub(super) templates: Vec<Vec<Template>>,
    pub(super) body: Arc<Body>,
}

impl Writing<'_> {
    /// Sends until it is over and returns how late each send was.
    pub(super) fn run(mut self) -> Result<Latencies, Error> {
        let Shared { run, times, window, batch, .. } = self.shared;
        let mut lateness = Latencies::default();
        let (mut heads, mut sends) = (Vec::with_capacity(BURST_BYTES), Vec::with_capacity(BURST));
        let producers = self.templates.len() as u64;
        let mut next = 0;
        sleep_until(run.clock, times.start);
        while let Some(count) = self.wait(next) {
            let now = run.now();
            let publish_ms = run.clock.wall_ms();
            heads.clear();
            sends.clear();
            for number in next..next + count {
                let (producer, round) = ((number % producers) as usize, number / producers);
                let keys = &mut self.templates[producer];
                let key = (round % keys.len() as u64) as usize;
                keys[key].stamp(FIRST_SEQUENCE + round * batch, publish_ms, &self.body, &mut heads);
                let due = self.pace.map_or(now, |pace| pace.due(number));
                if due >= times.measure {
                    lateness.record(now.saturating_sub(due));
                }
                sends.push(Send { producer, due, head: keys[key].len() });
            }
            window.sent(sends.iter().map(|send| (send.producer, send.due)));
            self.write(&heads, &sends)?;
            next += count;
        }
        Ok(lateness)
    }

    /// Waits until the send of this number may go, and tells how many may go with it; `None` when it is over.
    fn wait(&self, number: u64) -> Option<u64> {
        let Shared { run, times, window, .. } = self.shared;
        let room = window.room();
        if room == 0 || run.is_stopped() {
            return None;
        }
        let most = room.min(BURST).min(BURST_BYTES / self.body.bytes.len().max(1) + 1) as u64;
        let Some(pace) = self.pace else {
            return (run.now() < times.end).then_some(most);
        };
        let due = pace.due(number);
        if due >= times.end {
            return None;
        }
        sleep_until(run.clock, due);
        Some(pace.due_by(run.now()).saturating_sub(number).clamp(1, most))
    }

    /// Heads and bodies alternate; the body is the same bytes each time.
    fn write(&mut self, heads: &[u8], sends: &[Send]) -> Result<(), Error> {
        let pings = self.shared.pings.swap(0, Ordering::Relaxed);
        let mut parts = Vec::with_capacity(2 * sends.len() + pings as usize);
        parts.extend((0..pings).map(|_| IoSlice::new(&PONG)));
        let mut rest = heads;
        for send in sends {
            let (head, tail) = rest.split_at(send.head);
            parts.extend([IoSlice::new(head), IoSlice::new(&self.body.bytes)]);
            rest = tail;
        }
        self.sender.write(&mut parts)
    }
}

/// A send that is about to be written.
struct Send {
    producer: usize,
    due: Duration,
    /// Bytes of its head.
    head: usize,
}
