//! The state behind its lock, and the reads.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, watch};

use super::codec;
use super::disk::Snapshot;
use super::merge::merged;
use super::overlay::Overlay;
use super::state::{Durable, Pending, Settled, State};
use crate::row::Row;
use crate::{Error, Result, key};

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Wakes the writer.
    pub(super) work: Condvar,
    /// Wakes readers that wait for the database to be opened again.
    pub(super) reopened: Notify,
    /// Becomes true when the writer is done and the file is free.
    pub(super) closed: watch::Sender<bool>,
}

impl Shared {
    pub(super) fn new(state: State) -> Self {
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            reopened: Notify::new(),
            closed: watch::Sender::new(false),
        }
    }

    /// Does a write: decides it under the lock, and returns when readers see what it did or why it was refused.
    pub(super) async fn write<T>(&self, mut decide: impl FnMut(&mut State) -> Result<(T, Pending)>) -> Result<T> {
        loop {
            match self.decide(&mut decide) {
                Ok((written, pending)) => {
                    if let Some(pending) = pending {
                        pending.await.map_err(|_| Error::Closed)??;
                    }
                    return Ok(written);
                }
                Err((refused, None)) => return Err(refused),
                Err((refused, Some(settled))) => {
                    if settled.await.map_err(|_| Error::Closed)? {
                        return Err(refused);
                    }
                }
            }
        }
    }

    /// Decides a write under the lock and wakes the writer if it has to do with it.
    fn decide<T>(
        &self,
        decide: &mut impl FnMut(&mut State) -> Result<(T, Pending)>,
    ) -> Result<(T, Pending), (Error, Option<Settled>)> {
        let mut state = self.state.lock();
        let was_idle = state.overlay.is_empty();
        let decided = match decide(&mut state) {
            Ok(decided) => decided,
            Err(refused) => {
                let settled = refused.refused_row().and_then(|path| state.hold(&key::encode(path)));
                return Err((refused, settled));
            }
        };
        // The writer that waits out an eventual change needs waking only for the first that cannot wait.
        let wake = was_idle || (decided.1.is_some() && state.waiters.len() == 1);
        drop(state);
        if wake {
            self.work.notify_one();
        }
        Ok(decided)
    }

    /// Reads a row into the cache, so that a decision on it does not hold the lock while the disk is read.
    pub(super) fn prefetch(&self, row_key: &str) {
        let snapshot = {
            let state = self.state.lock();
            match &state.durable {
                Durable::Open(snapshot) if state.overlay.head(row_key).is_none() => Arc::clone(snapshot),
                _ => return,
            }
        };
        // An error comes up again where it is handled.
        let _ = snapshot.get(row_key);
    }

    pub(super) async fn get(&self, row_key: &str) -> Result<Option<Row>> {
        self.read(
            |overlay| overlay.seen(row_key).map(|change| change.row.clone()),
            |snapshot, seen| seen.map_or_else(|| snapshot.get(row_key), Ok),
        )
        .await
    }

    pub(super) async fn children_page(&self, parent: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let (start, end) = (key::below_start(parent), key::below_end(parent));
        self.read(
            |overlay| {
                let seen = overlay.seen_in(&start..&end);
                seen.map(|(key, change)| (key.to_string(), change.row.as_ref().map(|_| ()))).collect::<Vec<_>>()
            },
            |snapshot, seen| {
                key::children_page(parent, after, limit, |from| {
                    let changes = seen[seen.partition_point(|(key, _)| *key < from)..].iter().cloned();
                    let disk = snapshot.range(&from, end.as_str().max(&from), |_, _| Ok(()))?;
                    Ok(merged(disk, changes).map(|row| row.map(|(key, ())| key)))
                })
            },
        )
        .await
    }

    pub(super) async fn scan(&self, parent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Row)>> {
        let (start, end) = (key::scan_start(parent, after), key::below_end(parent));
        self.read(
            |overlay| {
                let seen = overlay.seen_in(&start..&end);
                seen.map(|(key, change)| (key.to_string(), change.row.clone())).collect::<Vec<_>>()
            },
            |snapshot, seen| {
                let disk = snapshot.range(&start, end.as_str().max(&start), codec::decode)?;
                merged(disk, seen).take(limit).collect()
            },
        )
        .await
    }

    /// Reads what the overlay says, then the disk as it was at that moment, without holding the lock. If the database
    /// fails meanwhile, waits until it is open again.
    async fn read<O, T>(&self, overlay: impl Fn(&Overlay) -> O, disk: impl Fn(&Snapshot, O) -> Result<T>) -> Result<T> {
        loop {
            let reopened = self.reopened.notified();
            let view = {
                let state = self.state.lock();
                match &state.durable {
                    _ if state.closing => return Err(Error::Closed),
                    Durable::Open(snapshot) => Some((Arc::clone(snapshot), overlay(&state.overlay))),
                    Durable::Reopening => None,
                    Durable::Failed(why) => return Err(Error::unavailable(why)),
                }
            };
            let Some((snapshot, seen)) = view else {
                reopened.await;
                continue;
            };
            match disk(&snapshot, seen) {
                Err(error) if error.is_retryable() && self.is_replaced(&snapshot) => {}
                outcome => return outcome,
            }
        }
    }

    fn is_replaced(&self, snapshot: &Arc<Snapshot>) -> bool {
        !matches!(&self.state.lock().durable, Durable::Open(current) if Arc::ptr_eq(current, snapshot))
    }
}
