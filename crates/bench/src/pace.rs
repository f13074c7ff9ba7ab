//! When sends are due.

use std::time::Duration;

use plerion_clock::SharedClock;

/// The due times of evenly spaced sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    start: Duration,
    per_second: f64,
}

impl Pace {
    /// The first send is due at `start`, the others follow at this rate.
    pub(crate) fn new(start: Duration, per_second: f64) -> Self {
        Self { start, per_second }
    }

    /// When the send of this number is due.
    #[inline]
    pub(crate) fn due(&self, number: u64) -> Duration {
        self.start + Duration::from_secs_f64(number as f64 / self.per_second)
    }

    /// How many sends are due by `now`.
    #[inline]
    pub(crate) fn due_by(&self, now: Duration) -> u64 {
        match now.checked_sub(self.start) {
            Some(since) => (since.as_secs_f64() * self.per_second) as u64 + 1,
            None => 0,
        }
    }
}

/// Sleeps until the clock shows `time`. Wakes up late by the system's timer slack, about 60 µs on Linux.
#[expect(clippy::disallowed_methods, reason = "a due time is the condition that is waited for")]
pub(crate) fn sleep_until(clock: &SharedClock, time: Duration) {
    if let Some(left) = time.checked_sub(clock.monotonic()) {
        std::thread::sleep(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_agrees_with_when_it_is_due() {
        let pace = Pace::new(Duration::from_secs(5), 1000.0);
        assert_eq!(pace.due_by(Duration::from_secs(4)), 0);
        assert_eq!(pace.due_by(Duration::from_secs(5)), 1);
        for number in 1..5000 {
            let due = pace.due(number);
            assert!(pace.due_by(due + Duration::from_nanos(10)) > number);
            assert!(pace.due_by(due - Duration::from_micros(10)) <= number);
        }
    }
}
