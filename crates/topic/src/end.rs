//! How a topic's time on this shard ends, and how it is kept small meanwhile.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::Retention;
use plerion_subscription::{Layout, Position};

use crate::topic::State;
use crate::{Error, Topic, facts};

/// How long SENDs under way may take when a topic is closed; after that its clients send them again elsewhere.
const SETTLE: Duration = Duration::from_secs(10);
/// How long closing or deleting a topic may take altogether.
const ENDING: Duration = Duration::from_secs(30);

impl Topic {
    /// Whether somebody may attach.
    pub(crate) fn check_serving(&self) -> Result<(), Error> {
        match self.state.get() {
            State::Open | State::Failed => Ok(()),
            State::Closing | State::Closed => Err(Error::NotServing(self.name().to_string())),
        }
    }

    /// Whether somebody may publish.
    pub(crate) fn check_publishable(&self) -> Result<(), Error> {
        self.check_serving()?;
        if let Some((_, error)) = self.failure() {
            return Err(Error::NotWritable { topic: self.name().to_string(), why: error.to_string() });
        }
        match self.log.as_ref().and_then(|log| log.terminated()) {
            Some(at) => Err(Error::Terminated(at)),
            None => Ok(()),
        }
    }

    /// Closes the topic: what is under way gets its answer, every client is told, everything is saved.
    ///
    /// # Errors
    /// [`Error::Stuck`], or what kept the log from being closed cleanly; nothing acknowledged is lost then, the next
    /// owner recovers it.
    pub async fn close(self: &Rc<Self>) -> Result<(), Error> {
        if matches!(self.state.get(), State::Closing | State::Closed) {
            return Ok(());
        }
        self.end(async {
            let Some(log) = &self.log else { return Ok(()) };
            self.record_deduplication();
            self.subscriptions().iter().for_each(|subscription| subscription.save_or_warn());
            Ok(log.close().await?)
        })
        .await
    }

    /// Ends the topic by `last` once its clients are gone.
    async fn end(&self, last: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
        self.state.set(State::Closing);
        let ending = async {
            self.release_clients().await;
            last.await
        };
        let outcome = tokio::time::timeout(ENDING, ending).await;
        self.state.set(State::Closed);
        outcome.unwrap_or_else(|_| Err(Error::Stuck(self.name().to_string())))
    }

    /// Whether the topic may be deleted.
    ///
    /// # Errors
    /// [`Error::InUse`] while clients are attached, unless `force` is to detach them.
    pub fn check_deletable(&self, force: bool) -> Result<(), Error> {
        let (producers, consumers) = (self.producers().len(), self.consumer_count());
        if force || producers + consumers == 0 { Ok(()) } else { Err(Error::InUse { producers, consumers }) }
    }

    /// Deletes the topic with everything in it.
    ///
    /// # Errors
    /// [`Error::InUse`] while clients are attached, unless `force` detaches them, [`Error::Stuck`], or what the stores
    /// say.
    pub async fn delete(self: &Rc<Self>, force: bool) -> Result<(), Error> {
        self.check_serving()?;
        self.check_deletable(force)?;
        self.end(async {
            let Some(log) = &self.log else { return Ok(()) };
            self.subscriptions().iter().for_each(|subscription| subscription.retire());
            Ok(log.delete().await?)
        })
        .await
    }

    /// Takes every client off the topic, after what is under way has its answer.
    async fn release_clients(&self) {
        for producer in self.producers() {
            // What it sends from now on gets no answer: it sends it again where the topic is served next.
            self.context.producers.remove(producer.key);
        }
        if tokio::time::timeout(SETTLE, self.settled()).await.is_err() {
            tracing::warn!(topic = %self.name(), "messages under way are left to their producers");
            self.refuse_pending("the topic is being closed and its store does not answer");
        }
        self.detach_producers(&Error::NotServing(self.name().to_string()));
        self.subscriptions().iter().for_each(|subscription| subscription.disconnect_all(None));
        self.broadcasts().iter().for_each(|subscription| subscription.disconnect_all(None));
    }

    /// Lets no more messages in, for good, and gives the last one's place.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] for a non-persistent topic, or what the stores say.
    pub async fn terminate(self: &Rc<Self>) -> Result<Position, Error> {
        self.check_serving()?;
        let Some(log) = &self.log else {
            return Err(Error::NotAllowed("Termination of a non-persistent topic is not allowed".into()));
        };
        let last = log.terminate().await?;
        self.settled().await;
        self.detach_producers(&Error::Terminated(last));
        self.subscriptions().iter().for_each(|subscription| subscription.tell_end());
        Ok(last)
    }

    /// Gives the space back of what everybody has consumed and `retention` does not keep.
    ///
    /// # Errors
    /// What the stores say; the next attempt goes on from there.
    pub async fn trim(self: &Rc<Self>, retention: Retention) -> Result<(), Error> {
        let Some(log) = &self.log else { return Ok(()) };
        let slowest = self
            .subscriptions()
            .iter()
            .filter(|subscription| subscription.durable)
            .map(|subscription| subscription.mark_delete())
            .min();
        let trimmed = log.trim(slowest, retention).await?;
        if trimmed.ledgers > 0 {
            tracing::debug!(topic = %self.name(), ?trimmed, "trimmed");
            for subscription in self.subscriptions() {
                subscription.follow_trim();
            }
        }
        Ok(())
    }

    /// Counts messages older than `ttl` as consumed, for every durable subscription.
    ///
    /// # Errors
    /// What reading the log says.
    pub async fn expire(self: &Rc<Self>, ttl: Duration) -> Result<(), Error> {
        let now = self.context.clock.wall_ms();
        let before = now.saturating_sub(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        for subscription in self.subscriptions() {
            if subscription.durable && subscription.backlog() > 0 {
                subscription.expire(before).await?;
            }
        }
        Ok(())
    }

    /// The first entry published at `at`, in ms since the epoch, or later; the end if there is none.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] for a non-persistent topic, or what reading the log says.
    pub async fn first_published_at(&self, at: u64) -> Result<Position, Error> {
        match &self.log {
            Some(log) => Ok(facts::first_published_at(log, at).await?),
            None => Err(Error::NotAllowed("a non-persistent topic keeps no messages".into())),
        }
    }

    /// How many messages wait for their subscriptions, summed over these.
    pub fn backlog(&self) -> u64 {
        self.subscriptions().iter().map(|subscription| subscription.backlog()).sum()
    }

    /// About how many bytes wait for the slowest durable subscription.
    pub fn backlog_bytes(&self) -> u64 {
        let Some(log) = &self.log else { return 0 };
        let durable = self.subscriptions().into_iter().filter(|subscription| subscription.durable);
        durable.map(|subscription| log.bytes_after(subscription.mark_delete())).max().unwrap_or(0)
    }

    /// Whether nothing was ever published to it that is still there, nobody is attached and nobody subscribes.
    pub fn is_unused(&self) -> bool {
        self.idle().is_some() && self.subscriptions.borrow().is_empty() && self.last_position().is_none()
    }

    /// Takes a sample of every rate, `elapsed` after the last one.
    pub fn sample(&self, elapsed: Duration) {
        self.published.sample(elapsed);
        self.producers().iter().for_each(|producer| producer.published.sample(elapsed));
        let kept = self.subscriptions().into_iter().flat_map(|subscription| subscription.consumers());
        let passing = self.broadcasts().into_iter().flat_map(|subscription| subscription.consumers());
        kept.chain(passing).for_each(|consumer| consumer.delivered.sample(elapsed));
    }

    /// The place of the last message.
    pub fn last_position(&self) -> Option<Position> {
        let log = self.log.as_ref()?;
        log.floor(log.last())
    }
}
