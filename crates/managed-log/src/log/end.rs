//! Terminating, closing and deleting a topic.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use plerion_metadata::Durability;
use plerion_subscription::Position;
use tokio::task::spawn_local;

use super::{End, Gate, Inner, ManagedLog};
use crate::Error;
use crate::row::{Checkpoint, State};

impl ManagedLog {
    /// Lets no more appends in, durably, and gives the position of the last entry, also of those under way when this
    /// was called. Idempotent; goes on if the caller goes away.
    ///
    /// # Errors
    /// What the stores say; after a retryable error the topic takes appends as before.
    pub async fn terminate(&self) -> Result<Position, Error> {
        let inner = Rc::clone(&self.inner);
        to_the_end(async move { inner.terminate().await }).await
    }

    /// The last position of a terminated topic.
    pub fn terminated(&self) -> Option<Position> {
        self.inner.row.get().terminated
    }

    /// Seals the open ledger after the appends under way are resolved, and brings the state of the cursors into the
    /// row. The handle takes nothing more, whatever the outcome. The snapshot source must answer until it has
    /// resolved. Goes on if the caller goes away.
    ///
    /// # Errors
    /// What kept the log from being closed cleanly. Nothing confirmed or flushed is lost: the next owner recovers it.
    pub async fn close(&self) -> Result<(), Error> {
        let inner = Rc::clone(&self.inner);
        to_the_end(async move { inner.close().await }).await
    }

    /// Deletes the topic with everything in it, durably. The handle takes nothing more, whatever the outcome. Goes on
    /// if the caller goes away.
    ///
    /// # Errors
    /// What the stores say. The topic is then still there, perhaps without its messages and cursors; opening and
    /// deleting it again goes on from there.
    pub async fn delete(&self) -> Result<(), Error> {
        let inner = Rc::clone(&self.inner);
        to_the_end(async move { inner.delete().await }).await
    }
}

/// Does work that must not be left halfway, also if the caller goes away.
pub(crate) async fn to_the_end<T: 'static>(work: impl Future<Output = Result<T, Error>> + 'static) -> Result<T, Error> {
    // A task ends early only with the shard.
    spawn_local(work).await.unwrap_or(Err(Error::Closed))
}

impl Inner {
    /// Seals what is open, after whatever waits was written. To be called with the turn held and the gate shut.
    async fn seal(self: &Rc<Self>) -> Result<(), Error> {
        loop {
            self.switch().await?;
            if !self.tail.borrow().has_writer() {
                return Ok(());
            }
        }
    }

    async fn terminate(self: &Rc<Self>) -> Result<Position, Error> {
        self.check()?;
        let before = self.gate.replace(Gate::Terminated);
        let _turn = self.turn.lock().await;
        if let Some(at) = self.row.get().terminated {
            return Ok(at);
        }
        let outcome = self.seal_for_good().await;
        if outcome.is_err() {
            self.gate.set(before);
        }
        self.written(outcome)
    }

    async fn seal_for_good(self: &Rc<Self>) -> Result<Position, Error> {
        self.seal().await?;
        let at = self.last();
        self.row.update(Durability::Synced, |row| row.terminated = Some(at)).await?;
        Ok(at)
    }

    async fn close(self: &Rc<Self>) -> Result<(), Error> {
        self.gate.set(Gate::Closing);
        let _turn = self.turn.lock().await;
        let sealed = match self.failure() {
            None => self.seal().await,
            Some(Error::Closed) => return Ok(()),
            Some(error) => Err(error),
        };
        let saved = self.save().await;
        self.leave();
        sealed.and(saved)
    }

    async fn delete(self: &Rc<Self>) -> Result<(), Error> {
        self.gate.set(Gate::Closing);
        let _turn = self.turn.lock().await;
        let _checkpointing = self.checkpointing.lock().await;
        let outcome = match self.failure() {
            None => self.delete_all().await,
            Some(error) => Err(error),
        };
        self.leave();
        outcome
    }

    async fn delete_all(&self) -> Result<(), Error> {
        drop(self.tail.borrow_mut().begin_switch());
        self.current.set(None);
        let sequence = match &*self.membership.borrow() {
            Some(membership) => membership.next_sequence(),
            None => return Err(Error::Closed),
        };
        self.row
            .update(Durability::Synced, |row| {
                row.doomed.extend(row.ledgers.drain(..).map(|ledger| ledger.id));
                let before = std::mem::replace(&mut row.checkpoint, Checkpoint { sequence, state: State::default() });
                if let State::Ledger(id) = before.state {
                    row.doomed.push(id);
                }
            })
            .await?;
        if let Some(membership) = &*self.membership.borrow() {
            membership.saved(u64::MAX);
        }
        if !self.row.delete_doomed(&*self.context.store).await {
            return Err(
                plerion_ledger::Error::Unavailable(Arc::from("not all ledgers of the topic are deleted")).into()
            );
        }
        self.row.delete().await
    }

    /// Ends the handle and leaves the state log.
    fn leave(self: &Rc<Self>) {
        self.end.replace(End::Failed(Error::Closed));
        self.tail.borrow_mut().clear();
        self.current.set(None);
        self.membership.take();
    }
}
