//! What the handles and the writer of an embedded store share, and how a write is decided.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::disk::{Batch, Snapshot};
use super::merge::merged;
use super::overlay::{Change, Overlay};
use crate::row::{self, NO_SESSION, SessionId};
use crate::watchers::Watchers;
use crate::{Durability, Error, Expect, NotificationKind, PutOptions, Result, Written, key};

/// Changes the overlay holds before an eventual put has to wait for the disk like a synced one.
const OVERLAY_LIMIT: usize = 65_536;

/// Where reads that the overlay cannot answer go.
pub(super) enum Durable {
    /// To the last committed state.
    Open(Arc<Snapshot>),
    /// The database is being opened again after an I/O error.
    Reopening,
    /// It could not be opened again; the writer goes on trying.
    Failed(String),
}

/// A write that waits for the disk.
pub(super) struct Waiter {
    key: Arc<str>,
    kind: NotificationKind,
    revision: u64,
    done: oneshot::Sender<Result<()>>,
}

impl Waiter {
    pub(super) fn path(&self) -> String {
        key::decode(&self.key)
    }

    /// Ends the wait; nobody minds if the caller has gone.
    pub(super) fn resolve(self, outcome: Result<()>) {
        let _ = self.done.send(outcome);
    }
}

/// The end of a write: already seen by readers, or to be awaited.
pub(super) type Pending = Option<oneshot::Receiver<Result<()>>>;

/// The fate of a change that a refusal rests on: whether readers see it now.
pub(super) type Settled = oneshot::Receiver<bool>;

/// A write that was refused for the sake of a change on its way to the disk.
pub(super) struct Refusal {
    revision: u64,
    settled: oneshot::Sender<bool>,
}

impl Refusal {
    /// Lets the refused writer go on; nobody minds if it has gone.
    pub(super) fn release(self, is_seen: bool) {
        let _ = self.settled.send(is_seen);
    }
}

pub(super) struct State {
    pub(super) durable: Durable,
    pub(super) overlay: Overlay,
    pub(super) waiters: Vec<Waiter>,
    /// Refused writes that readers could not understand yet.
    pub(super) refusals: Vec<Refusal>,
    pub(super) watchers: Watchers,
    pub(super) revision: u64,
    /// Why writes are refused, after an I/O error.
    pub(super) refused: Option<String>,
    /// The store takes no more calls.
    pub(super) closing: bool,
    last_session: SessionId,
    /// The live sessions and their ephemeral rows.
    sessions: BTreeMap<SessionId, BTreeSet<Arc<str>>>,
    /// Rows of ended sessions whose delete readers do not see yet.
    orphans: BTreeSet<Arc<str>>,
}

impl State {
    pub(super) fn new(snapshot: Snapshot, revision: u64) -> Self {
        Self {
            durable: Durable::Open(Arc::new(snapshot)),
            overlay: Overlay::default(),
            waiters: Vec::new(),
            refusals: Vec::new(),
            watchers: Watchers::default(),
            revision,
            refused: None,
            closing: false,
            last_session: NO_SESSION,
            sessions: BTreeMap::new(),
            orphans: BTreeSet::new(),
        }
    }

    pub(super) fn open_session(&mut self) -> SessionId {
        self.last_session += 1;
        self.sessions.insert(self.last_session, BTreeSet::new());
        self.last_session
    }

    /// Ends a session and deletes its rows, which readers see at once unless a row has a change on the way to the disk.
    pub(super) fn end_session(&mut self, session: SessionId) {
        self.orphans.extend(self.sessions.remove(&session).unwrap_or_default());
        self.delete_orphans();
    }

    pub(super) fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    pub(super) fn put(
        &mut self,
        path: &str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
        session: SessionId,
    ) -> Result<(Written, Pending)> {
        let snapshot = self.writable()?;
        let revision = self.revision + 1;
        let path = if options.sequential { row::numbered(path, revision) } else { path.to_owned() };
        let row_key: Arc<str> = key::encode(&path).into();
        let owner = if options.ephemeral { session } else { NO_SESSION };
        let row = match self.overlay.head(&row_key) {
            Some(head) => row::put(&path, head.row.as_ref(), value, expect, owner, revision)?,
            None => row::put(&path, snapshot.get(&row_key)?.as_ref(), value, expect, owner, revision)?,
        };
        let kind = if row.version == 0 { NotificationKind::Created } else { NotificationKind::Modified };
        let stat = row.stat(session);
        let pending = self.accept(row_key, Change { row: Some(row), revision }, kind, options.durability);
        Ok((Written { path, stat }, pending))
    }

    pub(super) fn delete(&mut self, path: &str, expect: Expect) -> Result<Pending> {
        let snapshot = self.writable()?;
        let row_key: Arc<str> = key::encode(path).into();
        let has_rows_below = self.has_rows_below(&snapshot, &row_key)?;
        match self.overlay.head(&row_key) {
            Some(head) => row::delete(path, head.row.as_ref(), expect, has_rows_below)?,
            None => row::delete(path, snapshot.get(&row_key)?.as_ref(), expect, has_rows_below)?,
        }
        let change = Change { row: None, revision: self.revision + 1 };
        Ok(self.accept(row_key, change, NotificationKind::Deleted, Durability::Synced))
    }

    /// All that is accepted, to be made durable, and who waits for it.
    pub(super) fn take_batch(&mut self) -> (Batch, Vec<Waiter>) {
        let batch = Batch { changes: self.overlay.changes(), revision: self.revision };
        (batch, mem::take(&mut self.waiters))
    }

    /// Whom a refusal must wait for: the last change at or below the row that readers do not see yet, if there is one.
    /// A caller that read before could not tell why it was refused, and would act on a row that a crash can take back.
    pub(super) fn hold(&mut self, row_key: &str) -> Option<Settled> {
        let revision = self.overlay.last_hidden(row_key)?;
        let (settled, wait) = oneshot::channel();
        self.refusals.push(Refusal { revision, settled });
        Some(wait)
    }

    /// Lets readers see a batch that is on disk, and returns the refusals they can understand now.
    pub(super) fn committed(&mut self, batch: &Batch, waiters: &[Waiter], snapshot: Snapshot) -> Vec<Refusal> {
        self.durable = Durable::Open(Arc::new(snapshot));
        self.overlay.written(&batch.changes);
        for waiter in waiters {
            let change = batch.changes.binary_search_by(|(key, _)| key.cmp(&waiter.key));
            let owner =
                change.ok().and_then(|at| batch.changes[at].1.row.as_ref()).map_or(NO_SESSION, |row| row.session);
            self.publish(&waiter.key, waiter.kind, waiter.revision, owner);
        }
        // Not before all of the batch is told: a row may have changed twice in it.
        self.delete_orphans();
        self.refusals.extract_if(.., |refusal| refusal.revision <= batch.revision).collect()
    }

    /// Takes back the changes that did not reach the disk, except those that readers have seen.
    pub(super) fn discard_hidden(&mut self) {
        self.overlay.discard_hidden();
        self.delete_orphans();
    }

    /// The snapshot that a write can be decided on.
    fn writable(&self) -> Result<Arc<Snapshot>> {
        if self.closing {
            return Err(Error::Closed);
        }
        match (&self.refused, &self.durable) {
            (None, Durable::Open(snapshot)) => Ok(Arc::clone(snapshot)),
            (Some(why), _) | (None, Durable::Failed(why)) => Err(Error::unavailable(why)),
            (None, Durable::Reopening) => Err(Error::unavailable("the database is being opened again")),
        }
    }

    fn accept(&mut self, key: Arc<str>, change: Change, kind: NotificationKind, durability: Durability) -> Pending {
        self.revision = change.revision;
        let revision = change.revision;
        // A change must not become visible before an earlier one of the same row.
        let at_once =
            durability == Durability::Eventual && !self.overlay.is_hidden(&key) && self.overlay.len() < OVERLAY_LIMIT;
        if at_once {
            let owner = change.row.as_ref().map_or(NO_SESSION, |row| row.session);
            self.overlay.accept_seen(Arc::clone(&key), change);
            self.publish(&key, kind, revision, owner);
            self.delete_orphans();
            return None;
        }
        let (done, pending) = oneshot::channel();
        self.overlay.accept_hidden(Arc::clone(&key), change);
        self.waiters.push(Waiter { key, kind, revision, done });
        Some(pending)
    }

    /// Tells watchers of a change that readers see from now on, and remembers who owns the row, or that nobody does.
    fn publish(&mut self, key: &Arc<str>, kind: NotificationKind, revision: u64, owner: SessionId) {
        self.watchers.publish(&key::decode(key), kind, revision);
        if kind == NotificationKind::Deleted {
            self.orphans.remove(key);
            for keys in self.sessions.values_mut() {
                keys.remove(key);
            }
        } else if owner != NO_SESSION {
            match self.sessions.get_mut(&owner) {
                Some(keys) => {
                    keys.insert(Arc::clone(key));
                }
                // The session ended while its row was on the way to the disk.
                None => {
                    self.orphans.insert(Arc::clone(key));
                }
            }
        }
    }

    fn delete_orphans(&mut self) {
        for key in self.orphans.clone() {
            let is_going = self.overlay.head(&key).is_some_and(|head| head.row.is_none());
            if !is_going {
                let change = Change { row: None, revision: self.revision + 1 };
                self.accept(key, change, NotificationKind::Deleted, Durability::Eventual);
            }
        }
    }

    fn has_rows_below(&self, snapshot: &Snapshot, row_key: &str) -> Result<bool> {
        let (from, end) = (key::below_start(row_key), key::below_end(row_key));
        let heads: Vec<_> = self
            .overlay
            .heads(&from..&end)
            .map(|(key, change)| (key.to_string(), change.row.as_ref().map(|_| ())))
            .collect();
        let disk = snapshot.range(&from, &end, |_, _| Ok(()))?;
        merged(disk, heads).next().transpose().map(|row| row.is_some())
    }
}
