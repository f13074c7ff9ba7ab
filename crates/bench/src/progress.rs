//! How a run is going, for whoever watches.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Messages so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    published: AtomicU64,
    received: AtomicU64,
}

impl Progress {
    pub(crate) fn published(&self, count: u64) {
        self.published.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, count: u64) {
        self.received.fetch_add(count, Ordering::Relaxed);
    }

    fn totals(&self) -> [u64; 2] {
        [self.published.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed)]
    }
}

/// Does the work, writing a line a second to standard error while it lasts, if that is a terminal.
pub(crate) fn watched<T>(work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !std::io::stderr().is_terminal() {
        return work(&progress);
    }
    std::thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        scope.spawn(|| {
            let is_done = is_done;
            let mut before = progress.totals();
            while is_done.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let now = progress.totals();
                let [published, received] = [now[0] - before[0], now[1] - before[1]];
                // Whoever closed the terminal does not want to know.
                let _ = writeln!(std::io::stderr(), "{published:>10} published/s {received:>10} received/s");
                before = now;
            }
        });
        let result = work(&progress);
        drop(done);
        result
    })
}
