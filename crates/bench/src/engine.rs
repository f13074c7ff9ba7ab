//! What the threads of a scenario share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use plerion_clock::SharedClock;

use crate::progress::Progress;
use crate::{Error, args};

/// How long nothing may come while something is due.
pub(crate) const STALL: Duration = Duration::from_secs(20);

/// How long after it was set up a scenario starts, so that all of its threads are there.
const LEAD: Duration = Duration::from_millis(20);

/// The shared state of a run.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) clock: &'a SharedClock,
    pub(crate) progress: &'a Progress,
    stop: &'a AtomicBool,
}

impl<'a> Run<'a> {
    pub(crate) fn new(clock: &'a SharedClock, progress: &'a Progress, stop: &'a AtomicBool) -> Self {
        Self { clock, progress, stop }
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Tells every thread to come to an end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The result of a thread; stops the others if it failed.
    pub(crate) fn join<T>(&self, thread: ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
        let result = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if result.is_err() {
            self.stop();
        }
        result
    }
}

/// The times of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) start: Duration,
    /// What is due earlier is not measured.
    pub(crate) measure: Duration,
    /// Nothing is due from here on.
    pub(crate) end: Duration,
}

impl Times {
    pub(crate) fn new(now: Duration, schedule: &args::Schedule) -> Self {
        let start = now + LEAD;
        let measure = start + Duration::from_secs(schedule.warmup);
        Self { start, measure, end: measure + Duration::from_secs(schedule.seconds.get()) }
    }
}
