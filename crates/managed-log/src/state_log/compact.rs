//! Bringing what the log holds into the rows of the topics, so that its ledgers can go.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use tokio::task::spawn_local;

use super::members::Pending;
use super::{Inner, open};
use crate::Error;
use crate::row::{Cas, TopicRow};
use crate::topic_state::{self, Change};

/// How many rows are written at a time; the metadata store commits them together.
const CONCURRENCY: usize = 64;

/// Topics whose state could not be brought into their rows, and why.
pub(super) type Failed = HashMap<Arc<str>, Error>;

impl Inner {
    /// Begins a compaction when the open ledger is large.
    pub(super) fn compact_if_large(self: &Rc<Self>) {
        let large = self.tail.borrow().open().bytes >= self.compact_at.get();
        if !large || self.compacting.replace(true) {
            return;
        }
        let inner = Rc::clone(self);
        spawn_local(async move {
            let outcome = inner.compact().await;
            inner.compacting.set(false);
            match outcome {
                Ok(()) => {}
                Err(error) if error.is_fenced() => inner.fail(error),
                Err(error) => {
                    tracing::warn!(bundle = %inner.path, %error, "the state log keeps its ledgers until its next compaction");
                }
            }
        });
    }

    async fn compact(self: &Rc<Self>) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        if let Some(error) = &*self.failure.borrow() {
            return Err(error.clone());
        }
        self.switch().await?;
        self.empty_sealed().await
    }

    /// Deletes the sealed ledgers, after bringing the state of every topic into its row. The changes of topics for
    /// which that fails are written again: one damaged row does not make the log grow. To be called with the turn
    /// held.
    pub(super) async fn empty_sealed(self: &Rc<Self>) -> Result<(), Error> {
        let failed = self.settle().await?;
        if !failed.is_empty() {
            for (topic, error) in &failed {
                tracing::warn!(%topic, %error, "the state log keeps the changes of a topic");
            }
            self.carry(&failed).await?;
        }
        self.retire().await
    }

    /// Brings the state of every topic with changes into its row; gives the topics for which that failed. To be called
    /// with the turn held.
    pub(super) async fn settle(self: &Rc<Self>) -> Result<Failed, Error> {
        let dirty: Vec<_> = self
            .members
            .borrow()
            .iter()
            .filter(|(_, entry)| entry.progress.is_dirty())
            .map(|(topic, entry)| (Arc::clone(topic), entry.member.upgrade()))
            .collect();
        let pending: Vec<_> = self.pending.borrow().keys().cloned().collect();
        if !pending.is_empty() {
            // A topic may have been given up with changes that are not in a ledger yet.
            self.flush_held().await?;
        }
        let open = stream::iter(dirty).map(|(topic, member)| async move {
            let outcome = match member {
                Some(member) => member.checkpoint().await,
                None => Err(Error::AlreadyOpen { path: Arc::clone(&topic) }),
            };
            outcome.err().map(|error| (topic, error))
        });
        let closed = stream::iter(pending).map(|topic| async move {
            let outcome = self.settle_pending(&topic).await;
            outcome.err().map(|error| (topic, error))
        });
        let open: Vec<_> = open.buffer_unordered(CONCURRENCY).collect().await;
        let closed: Vec<_> = closed.buffer_unordered(CONCURRENCY).collect().await;
        Ok(open.into_iter().chain(closed).flatten().collect())
    }

    /// Writes what the sealed ledgers hold of `topics` again. Their order no longer tells that of the changes of a
    /// topic, their numbers do.
    async fn carry(self: &Rc<Self>, topics: &Failed) -> Result<(), Error> {
        let sealed = self.sealed.borrow().clone();
        open::read_changes(self, sealed, |record| {
            if topics.contains_key(&record.topic) {
                self.add(record.sequence, &record.topic, &record.change);
            }
        })
        .await?;
        self.flush_held().await?;
        // What was carried over must not bring the next compaction about at once.
        self.compact_at.set(self.tail.borrow().open().bytes + self.context.config.state_log_bytes);
        Ok(())
    }

    /// Brings the changes of a topic that is not open into its row.
    async fn settle_pending(self: &Rc<Self>, topic: &Arc<str>) -> Result<(), Error> {
        let held = match self.pending.borrow().get(topic) {
            None => return Ok(()),
            Some(Pending::Held(changes)) => Some(changes.clone()),
            Some(Pending::InLedgers) => None,
        };
        let changes = match held {
            Some(changes) => changes,
            None => open::read_topic(self, topic).await?,
        };
        // A topic that is gone needs no state; one with a later owner has it already, handed over or recovered.
        if let Some(row) = Cas::<TopicRow>::load(&self.context.metadata, topic).await?
            && row.get().owner <= self.owner
        {
            self.settle_row(topic, &row, changes).await?;
        }
        self.pending.borrow_mut().remove(topic);
        Ok(())
    }

    async fn settle_row(
        &self,
        topic: &Arc<str>,
        row: &Cas<TopicRow>,
        changes: Vec<(u64, Change)>,
    ) -> Result<(), Error> {
        let checkpoint = row.get().checkpoint.clone();
        let Some(last) = changes.iter().map(|&(sequence, _)| sequence).max().filter(|&last| last > checkpoint.sequence)
        else {
            return Ok(());
        };
        let state = topic_state::recover(&self.context, topic, &checkpoint, self.owner, changes).await?;
        topic_state::write(&self.context, row, self.owner, last, state.encode()).await
    }
}
