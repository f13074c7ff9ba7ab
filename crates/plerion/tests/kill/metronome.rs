//! How much the machine keeps threads of this process waiting: others use it too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

const TICK: Duration = Duration::from_millis(2);

/// A thread that does nothing but note how late it is woken.
pub(crate) struct Metronome(Arc<Shared>);

#[derive(Default)]
struct Shared {
    late_us: AtomicU64,
    stop: AtomicBool,
}

impl Metronome {
    pub(crate) fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let ours = shared.clone();
        std::thread::spawn(move || {
            while !ours.stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                #[expect(clippy::disallowed_methods, reason = "lateness of the machine, not of a runtime")]
                std::thread::sleep(TICK);
                let late = began.elapsed().saturating_sub(TICK);
                ours.late_us.fetch_add(u64::try_from(late.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
        Self(shared)
    }

    /// By how much it was woken late, all in all.
    pub(crate) fn late(&self) -> Duration {
        Duration::from_micros(self.0.late_us.load(Ordering::Relaxed))
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}
