//! The thread that makes changes durable.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::device::Device;
use super::disk::{Batch, Disk, Snapshot};
use super::shared::Shared;
use super::state::{Durable, Waiter};
use crate::Error;

/// Longest time an eventual change stays in memory only.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// How long the store must be idle before it is prepared for a fast start after a crash.
const SETTLE_INTERVAL: Duration = Duration::from_secs(1);
/// How long writes are refused after an I/O error before the disk is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Takes everything that was accepted while the last batch was on its way, makes it durable in one transaction, and
/// tells those who wait. There is no other wait: a lone write costs one sync, many at once share it.
pub(super) struct Writer {
    shared: Arc<Shared>,
    device: Device,
    cache_bytes: usize,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, device: Device, cache_bytes: usize) -> Self {
        Self { shared, device, cache_bytes }
    }

    /// Runs until the store is closed and everything accepted is durable.
    pub(super) fn run(self, disk: Disk) {
        let mut disk = Some(disk);
        let mut settled = false;
        while let Some(open) = disk.take() {
            let Some((batch, waiters)) = self.next_batch(settled) else {
                // Frees the file before anyone is told that it is free.
                drop(open);
                break;
            };
            // Nobody is there to mind that it takes longer.
            settled = waiters.is_empty();
            disk = match open.commit(&batch, settled).and_then(|()| open.snapshot()) {
                Ok(snapshot) => {
                    let refusals = self.shared.state.lock().committed(&batch, &waiters, snapshot);
                    waiters.into_iter().for_each(|waiter| waiter.resolve(Ok(())));
                    refusals.into_iter().for_each(|refusal| refusal.release(true));
                    Some(open)
                }
                Err(error) => self.recover(open, &error.to_string(), &batch, waiters),
            };
        }
        self.end();
    }

    /// What to write next, an empty batch if only the database is to be settled, nothing if the store is closed.
    fn next_batch(&self, settled: bool) -> Option<(Batch, Vec<Waiter>)> {
        let mut state = self.shared.state.lock();
        loop {
            if state.closing && state.overlay.is_empty() {
                return None;
            }
            let due = if state.closing || !state.waiters.is_empty() {
                true
            } else if !state.overlay.is_empty() {
                self.shared.work.wait_for(&mut state, FLUSH_INTERVAL).timed_out()
            } else if settled {
                self.shared.work.wait(&mut state);
                false
            } else {
                self.shared.work.wait_for(&mut state, SETTLE_INTERVAL).timed_out()
            };
            if due && !(state.closing && state.overlay.is_empty()) {
                return Some(state.take_batch());
            }
        }
    }

    /// Opens the database again after an I/O error, which is the only way to learn what of the batch is on disk, and
    /// lets readers go on. Returns nothing if the store is to be closed.
    fn recover(&self, failed: Disk, why: &str, batch: &Batch, mut waiters: Vec<Waiter>) -> Option<Disk> {
        tracing::error!(why, "the metadata store could not write; writes are refused until it can");
        let (refused, undecided) = {
            let mut state = self.shared.state.lock();
            state.refused = Some(why.to_owned());
            state.durable = Durable::Reopening;
            (mem::take(&mut state.waiters), mem::take(&mut state.refusals))
        };
        fail(refused, |_| Error::unavailable(why));
        // What these were refused for may never be.
        undecided.into_iter().for_each(|refusal| refusal.release(false));
        drop(failed);

        let unknown = |waiter: &Waiter| Error::UnknownOutcome { path: waiter.path(), why: why.to_owned() };
        let (disk, snapshot, revision) = loop {
            match self.reopen() {
                Ok(reopened) => break reopened,
                Err(error) => self.shared.state.lock().durable = Durable::Failed(error),
            }
            self.shared.reopened.notify_waiters();
            fail(mem::take(&mut waiters), unknown);
            if self.pause() {
                return None;
            }
        };
        {
            let mut state = self.shared.state.lock();
            state.discard_hidden();
            state.durable = Durable::Open(Arc::new(snapshot));
        }
        self.shared.reopened.notify_waiters();
        if revision < batch.revision {
            fail(waiters, |_| Error::unavailable(why));
        } else {
            fail(waiters, unknown);
        }
        if self.device.sync_failed() {
            // Reads go on, but no write may be called durable any more until the process starts anew.
            self.shared.state.lock().refused = Some(format!("the disk failed to sync: {why}"));
            self.await_closing();
            return None;
        }
        if self.pause() {
            return None;
        }
        self.shared.state.lock().refused = None;
        Some(disk)
    }

    fn reopen(&self) -> Result<(Disk, Snapshot, u64), String> {
        let disk = Disk::open(self.device.clone(), self.cache_bytes).map_err(|error| error.to_string())?;
        let snapshot = disk.snapshot().map_err(|error| error.to_string())?;
        let revision = disk.revision().map_err(|error| error.to_string())?;
        Ok((disk, snapshot, revision))
    }

    /// Waits before the disk is tried again; true if the store is closing.
    fn pause(&self) -> bool {
        let mut state = self.shared.state.lock();
        if !state.closing {
            self.shared.work.wait_while_for(&mut state, |state| !state.closing, RETRY_INTERVAL);
        }
        state.closing
    }

    fn await_closing(&self) {
        let mut state = self.shared.state.lock();
        self.shared.work.wait_while(&mut state, |state| !state.closing);
    }

    fn end(&self) {
        let waiters = {
            let mut state = self.shared.state.lock();
            state.watchers.close();
            state.durable = Durable::Failed("the store is closed".to_owned());
            state.refusals.clear();
            mem::take(&mut state.waiters)
        };
        fail(waiters, |_| Error::Closed);
        self.device.release();
        self.shared.closed.send_replace(true);
    }
}

fn fail(waiters: Vec<Waiter>, error: impl Fn(&Waiter) -> Error) {
    for waiter in waiters {
        let error = error(&waiter);
        waiter.resolve(Err(error));
    }
}
