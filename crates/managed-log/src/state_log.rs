//! The state log of a bundle: every change of the cursors and the deduplication of its topics.
//!
//! Changes are numbered and collected into frames; a frame is an entry of a ledger. A topic's row holds a checkpoint
//! of its state and the number of the last change it contains, so that replay takes the later ones only. When the
//! ledger is large, a new one is begun, every topic that changed is checkpointed, and the old one is deleted.
//!
//! The numbers are a logical clock: opening a topic moves the log's number beyond that of the topic's checkpoint, so
//! a change recorded later is always newer, whichever bundle the topic was in before.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;
use plerion_ledger::{Epoch, LedgerId};
use tokio::sync::{Mutex, Notify};

use crate::log::to_the_end;
use crate::row::{BundleRow, Cas};
use crate::tail::Tail;
use crate::topic_state::Change;
use crate::{Context, Error};

mod compact;
mod frame;
mod members;
mod open;
mod ship;
mod writing;

pub(crate) use members::{Member, Membership};
pub use ship::Flush;

/// A handle to a bundle's state log. Clones are handles to the same log.
#[derive(Clone)]
pub struct StateLog {
    inner: Rc<Inner>,
}

/// Figures of a state log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateLogStats {
    /// Ledgers the log is kept in.
    pub ledgers: usize,
    /// Bytes in the open ledger.
    pub open_bytes: u64,
    /// Topics that are open.
    pub open_topics: usize,
    /// Topics that are not open and have changes which are not in their rows yet.
    pub pending_topics: usize,
    /// Frames written since the log was opened.
    pub frames: u64,
}

struct Inner {
    context: Context,
    path: Arc<str>,
    owner: Epoch,
    row: Cas<BundleRow>,
    /// The number of the last change.
    sequence: Cell<u64>,
    /// Changes that are not on their way to the ledger yet.
    frame: RefCell<BytesMut>,
    tail: RefCell<Tail>,
    shipping: RefCell<ship::Shipping>,
    /// The sealed ledgers of the log and how many entries each has.
    sealed: RefCell<Vec<(LedgerId, u64)>>,
    /// The ledger being written to.
    current: Cell<Option<LedgerId>>,
    failure: RefCell<Option<Error>>,
    failed: Notify,
    members: RefCell<HashMap<Arc<str>, members::Entry>>,
    pending: RefCell<HashMap<Arc<str>, members::Pending>>,
    compacting: Cell<bool>,
    /// The size of the open ledger at which the next compaction begins.
    compact_at: Cell<u64>,
    /// Held by whoever changes which ledgers there are, or settles pending topics.
    turn: Mutex<()>,
}

impl StateLog {
    /// Opens the state log of the bundle whose row is at `path`, for the owner of term `owner`: fences earlier
    /// owners and reads the changes that are not in the rows of their topics.
    ///
    /// # Errors
    /// [`Error::StaleOwner`] if a later owner has opened it, [`Error::Corrupt`] if a frame cannot be understood (with
    /// [`Config::skip_unreadable`](crate::Config::skip_unreadable) it is passed over), or what the stores say.
    pub async fn open(context: Context, path: &str, owner: Epoch) -> Result<Self, Error> {
        let inner = open::open(context, Arc::from(path), owner).await?;
        Ok(Self { inner })
    }

    /// The term of the owner who opened the log.
    pub fn owner(&self) -> Epoch {
        self.inner.owner
    }

    /// Resolves when every change recorded before this call is durable. Calls of one scheduling round share a frame.
    /// The work goes on if the result is dropped.
    pub fn flush(&self) -> Flush {
        self.inner.flush()
    }

    /// Whether changes were recorded that nobody has flushed.
    pub fn has_unflushed(&self) -> bool {
        !self.inner.frame.borrow().is_empty()
    }

    /// Why the log is of no more use, if so. All topics of the bundle are to be closed and opened again with it.
    pub fn failure(&self) -> Option<Error> {
        self.inner.failure.borrow().clone()
    }

    /// Resolves when the log has failed or is closed.
    pub async fn failed(&self) -> Error {
        loop {
            let failed = self.inner.failed.notified();
            if let Some(error) = self.failure() {
                return error;
            }
            failed.await;
        }
    }

    /// Brings the state of every topic into its row, deletes the ledgers, and ends the log. To be called after the
    /// topics of the bundle are closed.
    ///
    /// # Errors
    /// Whatever kept a topic's state from its row; the ledgers stay, and the bundle's next owner finds all of it.
    pub async fn close(&self) -> Result<(), Error> {
        let inner = Rc::clone(&self.inner);
        to_the_end(async move { inner.close().await }).await
    }

    /// Figures of the log.
    pub fn stats(&self) -> StateLogStats {
        let inner = &self.inner;
        StateLogStats {
            ledgers: inner.row.get().ledgers.len(),
            open_bytes: inner.tail.borrow().open().bytes,
            open_topics: inner.members.borrow().len(),
            pending_topics: inner.pending.borrow().len(),
            frames: inner.shipping.borrow().pushed,
        }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Registers a topic that is being opened; gives its changes that are not in its row, oldest first.
    pub(crate) async fn join(&self, topic: &Arc<str>) -> Result<(Membership, Vec<(u64, Change)>), Error> {
        members::join(&self.inner, topic).await
    }
}

impl Inner {
    /// Numbers a change of `topic` and adds it to the frame.
    fn record(self: &Rc<Self>, topic: &str, change: &Change) -> Result<(), Error> {
        if let Some(error) = &*self.failure.borrow() {
            return Err(Error::StateLog(Arc::new(error.clone())));
        }
        self.sequence.set(self.sequence.get() + 1);
        self.add(self.sequence.get(), topic, change);
        Ok(())
    }

    /// Adds a change to the frame.
    fn add(self: &Rc<Self>, sequence: u64, topic: &str, change: &Change) {
        let full = {
            let mut frame = self.frame.borrow_mut();
            frame::add(&mut frame, sequence, topic, change);
            frame.len() >= frame::FULL_BYTES
        };
        if full {
            self.ship();
        }
    }

    /// Moves the clock beyond a checkpoint made elsewhere.
    fn witness(&self, sequence: u64) {
        self.sequence.set(self.sequence.get().max(sequence));
    }

    /// Ends the log: whoever waits for a flush and every open topic is told.
    fn fail(&self, error: Error) {
        if self.failure.borrow().is_some() {
            return;
        }
        if !matches!(error, Error::Closed) {
            tracing::warn!(bundle = %self.path, %error, "state log failed");
        }
        self.failure.replace(Some(error.clone()));
        self.tail.borrow_mut().clear();
        self.frame.borrow_mut().clear();
        let waiters = std::mem::take(&mut self.shipping.borrow_mut().waiters);
        for (_, waiter) in waiters {
            let _ = waiter.send(Err(error.clone()));
        }
        let members: Vec<_> = self.members.borrow().values().filter_map(|entry| entry.member.upgrade()).collect();
        for member in members {
            member.state_log_failed(&error);
        }
        self.failed.notify_waiters();
    }
}
