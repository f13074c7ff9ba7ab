//! Moving a subscription to another place.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use plerion_subscription::{Layout, Position};

use super::Subscription;
use crate::{Error, facts};

/// How long a subscription that does not survive its consumers waits for one to come back after a seek.
const LINGER: Duration = Duration::from_secs(60);

/// Where a subscription is to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// At this entry, or at the next one that is there. The sentinels of clients mean the ends.
    Entry(Position),
    /// Within the batch at this position, at the messages whose bits are 1.
    Batch(Position, Vec<i64>),
    /// At the first entry published at this time, in ms since the epoch, or later.
    Time(u64),
}

impl Subscription {
    /// Detaches every consumer and goes on at `target`; durable when it returns. Nobody may join meanwhile.
    ///
    /// # Errors
    /// [`Error::SubscriptionFenced`] while another seek is under way, or what the log says.
    pub async fn seek(self: &Rc<Self>, target: Target) -> Result<(), Error> {
        if self.is_fenced() {
            return Err(Error::SubscriptionFenced);
        }
        let outcome = {
            let _seeking = Raised::new(&self.seeking);
            self.move_to(target).await
        };
        if !self.durable {
            self.linger();
        }
        outcome
    }

    /// Has the subscription forgotten if nobody comes back.
    fn linger(self: &Rc<Self>) {
        let subscription = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(LINGER).await;
            if let Some(subscription) = subscription.upgrade()
                && subscription.consumer_count() == 0
                && let Some(topic) = subscription.topic.upgrade()
            {
                topic.forget_subscription(&subscription);
            }
        });
    }

    async fn move_to(self: &Rc<Self>, target: Target) -> Result<(), Error> {
        self.disconnect_all(None);
        let (position, batch) = match target {
            Target::Entry(position) => (position, None),
            Target::Batch(position, left) => (position, Some(left)),
            Target::Time(at) => (facts::first_published_at(&self.log, at).await?, None),
        };
        {
            let batch = batch.as_deref().map(|left| (left, 0));
            self.cursor.borrow_mut().seek(position, batch, &self.log);
            self.dispatcher.borrow_mut().rewind();
        }
        self.persist().await
    }

    /// Counts as acknowledged what was published before `before`, in ms since the epoch.
    ///
    /// # Errors
    /// What reading the log says.
    pub async fn expire(self: &Rc<Self>, before: u64) -> Result<(), Error> {
        if let Some(last) = self.log.find_by_publish_time(before, facts::publish_time).await? {
            let backlog = self.backlog();
            self.skip_up_to(last);
            self.expired.set(self.expired.get() + backlog.saturating_sub(self.backlog()));
        }
        Ok(())
    }

    /// Counts the next `count` unacknowledged entries as acknowledged.
    pub fn skip(self: &Rc<Self>, count: u64) {
        let mut last = None;
        {
            let cursor = self.cursor.borrow();
            let mut from = cursor.mark_delete();
            for _ in 0..count {
                let Some(next) = cursor.next_unacked(from, &self.log) else { break };
                last = Some(next);
                from = Position::new(next.ledger, next.entry + 1);
            }
        }
        if let Some(last) = last {
            self.skip_up_to(last);
        }
    }

    /// The `nth` unacknowledged entry, counted from 1, and its place.
    ///
    /// # Errors
    /// What reading the log says.
    pub async fn peek(&self, nth: u64) -> Result<Option<(Position, Bytes)>, Error> {
        let mut found = None;
        {
            let cursor = self.cursor.borrow();
            let mut from = cursor.mark_delete();
            for _ in 0..nth {
                found = cursor.next_unacked(from, &self.log);
                let Some(next) = found else { return Ok(None) };
                from = Position::new(next.ledger, next.entry + 1);
            }
        }
        let Some(position) = found else { return Ok(None) };
        let reading = self.log.read(position, position, 1, usize::MAX).await?;
        Ok(reading.entries.into_iter().next().map(|entry| (entry.position, entry.bytes)))
    }

    /// Counts everything as acknowledged.
    pub fn skip_all(self: &Rc<Self>) {
        let last = self.log.last();
        self.skip_up_to(last);
    }
}

/// A flag that is raised for as long as this lives, also if nobody waits for the outcome any more.
struct Raised<'a>(&'a Cell<bool>);

impl<'a> Raised<'a> {
    fn new(flag: &'a Cell<bool>) -> Self {
        flag.set(true);
        Self(flag)
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
