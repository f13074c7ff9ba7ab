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

/// By how much a sleep may overrun: Linux groups timers that lie within 50 µs, and waking up takes its time too.
const SLACK: Duration = Duration::from_micros(80);

/// Waits until the clock shows `time`, to within a few microseconds if that is not too near.
///
/// Sleeps until shortly before and then lets others run until the time has come. A wait shorter than that is slept,
/// and overrun: at such a rate several sends are due by then, and a thread that never sleeps takes what the broker needs.
#[expect(clippy::disallowed_methods, reason = "a due time is the condition that is waited for")]
pub(crate) fn sleep_until(clock: &SharedClock, time: Duration) {
    let Some(left) = time.checked_sub(clock.monotonic()) else { return };
    std::thread::sleep(left.checked_sub(SLACK).unwrap_or(left));
    while clock.monotonic() < time {
        std::thread::yield_now();
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
