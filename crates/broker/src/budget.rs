//! How many bytes of publishing may be under way in the whole broker.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Bytes received in SENDs that have no answer yet. Above the limit connections are not read from until it is down to
/// half, so that producers faster than the disk cannot fill the memory.
#[derive(Debug)]
pub(crate) struct PublishBudget {
    limit: usize,
    used: AtomicUsize,
    relieved: Notify,
}

impl PublishBudget {
    /// A budget of `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), relieved: Notify::new() }
    }

    /// How many bytes are under way.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        if before > self.limit / 2 && before.saturating_sub(bytes) <= self.limit / 2 {
            self.relieved.notify_waiters();
        }
    }

    /// Waits while the limit is exceeded.
    pub(crate) async fn wait(&self) {
        if self.used() < self.limit {
            return;
        }
        loop {
            let relieved = self.relieved.notified();
            if self.used() <= self.limit / 2 {
                return;
            }
            relieved.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn waiting_ends_at_half() {
        let budget = Arc::new(PublishBudget::new(100));
        budget.add(120);
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.wait().await }
        });
        tokio::task::yield_now().await;
        budget.sub(60);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "60 of 100 are still under way");
        budget.sub(10);
        waiting.await.expect("the waiter ends");
    }
}
