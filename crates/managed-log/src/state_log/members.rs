//! The topics of the bundle: those that are open, and those that have changes which are not in their rows.

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use futures::future::LocalBoxFuture;

use super::{Inner, open};
use crate::Error;
use crate::topic_state::Change;

/// An open topic, as the state log needs it.
pub(crate) trait Member {
    /// Brings the topic's state into its row, durably.
    fn checkpoint(self: Rc<Self>) -> LocalBoxFuture<'static, Result<(), Error>>;

    /// The state log takes no more changes.
    fn state_log_failed(self: Rc<Self>, error: &Error);
}

/// A topic that is open or being opened.
pub(super) struct Entry {
    pub(super) member: Weak<dyn Member>,
    pub(super) progress: Rc<Progress>,
}

/// How much of a topic's state is in its row, in numbers of changes.
#[derive(Default)]
pub(super) struct Progress {
    /// The topic's last change.
    changed: Cell<u64>,
    /// What the row contains.
    saved: Cell<u64>,
}

impl Progress {
    pub(super) fn is_dirty(&self) -> bool {
        self.changed.get() > self.saved.get()
    }
}

/// Changes of a topic that is not open.
pub(super) enum Pending {
    Held(Vec<(u64, Change)>),
    /// To be read from the log's ledgers: the topic was given up without bringing its state into its row.
    InLedgers,
}

/// A topic's place in the state log; dropping it leaves the log.
pub(crate) struct Membership {
    log: Rc<Inner>,
    topic: Arc<str>,
    progress: Rc<Progress>,
}

pub(super) async fn join(log: &Rc<Inner>, topic: &Arc<str>) -> Result<(Membership, Vec<(u64, Change)>), Error> {
    if let Some(error) = &*log.failure.borrow() {
        return Err(Error::StateLog(Arc::new(error.clone())));
    }
    let progress = Rc::<Progress>::default();
    {
        let mut members = log.members.borrow_mut();
        if members.contains_key(topic) {
            return Err(Error::AlreadyOpen { path: Arc::clone(topic) });
        }
        members.insert(Arc::clone(topic), Entry { member: Weak::<Nobody>::new(), progress: Rc::clone(&progress) });
    }
    let membership = Membership { log: Rc::clone(log), topic: Arc::clone(topic), progress };
    let changes = claim(log, topic).await?;
    membership.progress.changed.set(changes.iter().map(|&(sequence, _)| sequence).max().unwrap_or(0));
    Ok((membership, changes))
}

/// Takes the changes of `topic` that are not in its row.
async fn claim(log: &Rc<Inner>, topic: &Arc<str>) -> Result<Vec<(u64, Change)>, Error> {
    if !log.pending.borrow().contains_key(topic) {
        return Ok(Vec::new());
    }
    log.flush().await?;
    let _turn = log.turn.lock().await;
    let held = match log.pending.borrow_mut().get_mut(topic) {
        None => Some(Vec::new()),
        Some(Pending::Held(changes)) => Some(std::mem::take(changes)),
        Some(Pending::InLedgers) => None,
    };
    let changes = match held {
        Some(changes) => changes,
        None => open::read_topic(log, topic).await?,
    };
    log.pending.borrow_mut().remove(topic);
    Ok(changes)
}

impl Membership {
    /// From now on checkpoints are asked of `member`.
    pub(crate) fn enter(&self, member: Weak<dyn Member>) {
        if let Some(entry) = self.log.members.borrow_mut().get_mut(&self.topic) {
            entry.member = member;
        }
    }

    pub(crate) fn record(&self, change: &Change) -> Result<(), Error> {
        self.log.record(&self.topic, change)?;
        self.progress.changed.set(self.log.sequence.get());
        Ok(())
    }

    /// A number that is greater than that of every change so far.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.log.witness(self.log.sequence.get() + 1);
        self.log.sequence.get()
    }

    /// Makes every later change newer than the checkpoint at `sequence`, which is in the row.
    pub(crate) fn witness(&self, sequence: u64) {
        self.log.witness(sequence);
        self.saved(sequence);
    }

    /// The number a checkpoint made now has, if the topic has changes that are not in its row.
    pub(crate) fn checkpoint_due(&self) -> Option<u64> {
        self.progress.is_dirty().then(|| self.log.sequence.get())
    }

    /// The row contains every change up to `sequence`.
    pub(crate) fn saved(&self, sequence: u64) {
        self.progress.saved.set(self.progress.saved.get().max(sequence));
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.log.members.borrow_mut().remove(&self.topic);
        if self.progress.is_dirty() {
            self.log.pending.borrow_mut().insert(Arc::clone(&self.topic), Pending::InLedgers);
        }
    }
}

/// The member of a topic that is being opened.
struct Nobody;

impl Member for Nobody {
    fn checkpoint(self: Rc<Self>) -> LocalBoxFuture<'static, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn state_log_failed(self: Rc<Self>, _error: &Error) {}
}
