//! Time as an argument.
//!
//! Code that must run the same in a simulation as in production takes a [`Clock`] and never asks the
//! operating system itself. The two readings are kept apart: wall time is what messages and policies carry,
//! monotonic time is what timeouts and latencies are measured with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A source of wall and monotonic time.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn wall_ms(&self) -> u64;

    /// Time since an arbitrary fixed start; never goes back.
    fn monotonic(&self) -> Duration;
}

/// A clock that is shared between components.
pub type SharedClock = Arc<dyn Clock>;

/// The operating system's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: std::time::Instant,
}

impl SystemClock {
    /// A clock whose monotonic reading starts at zero now.
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system")]
    pub fn shared() -> SharedClock {
        Arc::new(Self { start: std::time::Instant::now() })
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system")]
    fn wall_ms(&self) -> u64 {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that moves only when told to, for tests and simulation.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall_ms: AtomicU64,
    monotonic_ns: AtomicU64,
}

impl ManualClock {
    /// A clock that stands at `wall_ms` milliseconds since the Unix epoch.
    pub fn starting_at(wall_ms: u64) -> Arc<Self> {
        Arc::new(Self { wall_ms: AtomicU64::new(wall_ms), monotonic_ns: AtomicU64::new(0) })
    }

    /// Moves both readings forward.
    pub fn advance(&self, by: Duration) {
        self.wall_ms.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.monotonic_ns.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn wall_ms(&self) -> u64 {
        self.wall_ms.load(Ordering::Relaxed)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.monotonic_ns.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_both_readings_together() {
        let clock = ManualClock::starting_at(1_000);
        clock.advance(Duration::from_millis(250));
        assert_eq!(clock.wall_ms(), 1_250);
        assert_eq!(clock.monotonic(), Duration::from_millis(250));
    }
}
