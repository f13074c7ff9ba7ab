//! What administrators do with subscriptions.

use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

use bytes::Bytes;
use plerion_managed_log::OpenMode;
use plerion_resources::names::TopicName;
use plerion_subscription::{Layout, Position};
use plerion_topic::{Start, Subscription, Target, Topic};

use super::Handle;
use crate::failure::Failure;

/// A stored entry that somebody looks at.
#[derive(Clone, Debug)]
pub struct Peeked {
    /// Where it is.
    pub position: Position,
    /// The entry as it is stored: checksum, metadata, payload.
    pub entry: Bytes,
}

impl Handle {
    /// Whether a topic is there, in the store or in memory.
    ///
    /// # Errors
    /// [`Failure`] of absence if it is not.
    pub async fn require_topic(&self, name: &TopicName) -> Result<(), Failure> {
        self.core().namespaces.require(name.namespace()).await?;
        if self.core().topic_exists(name).await? {
            return Ok(());
        }
        Err(Failure::no_topic(format!("Topic {name} not found")))
    }

    /// Runs `work` on a topic, where it lives.
    pub(super) async fn with_topic<F, T>(
        &self,
        name: &TopicName,
        work: impl FnOnce(Rc<Topic>) -> F + Send + 'static,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + 'static,
        T: Send + 'static,
    {
        self.require_topic(name).await?;
        self.at(name, move |shard, name| async move { work(shard.topic(&name, OpenMode::MustExist).await?).await })
            .await
    }

    /// Runs `work` on a subscription, where its topic lives.
    async fn with_subscription<F, T>(
        &self,
        name: &TopicName,
        subscription: &str,
        work: impl FnOnce(Rc<Subscription>) -> F + Send + 'static,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + 'static,
        T: Send + 'static,
    {
        let wanted = subscription.to_owned();
        self.with_topic(name, move |topic| async move {
            match topic.subscription(&wanted) {
                Some(subscription) => work(subscription).await,
                None => Err(Failure::no_subscription(&wanted)),
            }
        })
        .await
    }

    /// The names of a topic's subscriptions.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn subscriptions(&self, name: &TopicName) -> Result<Vec<String>, Failure> {
        self.with_topic(name, |topic| async move {
            let kept = topic.subscriptions().into_iter().map(|subscription| subscription.name.to_string());
            let passing = topic.broadcasts().into_iter().map(|subscription| subscription.name.to_string());
            Ok(kept.chain(passing).collect())
        })
        .await
    }

    /// Makes a durable subscription; the topic too, if it is not there and may be made.
    ///
    /// # Errors
    /// [`Failure`] when it is there already.
    pub async fn create_subscription(
        &self,
        name: &TopicName,
        subscription: &str,
        start: Start,
        properties: BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        self.core().namespaces.require(name.namespace()).await?;
        let subscription = subscription.to_owned();
        self.at(name, move |shard, name| async move {
            let topic = shard.readable_topic(&name, true).await?;
            let properties = properties.into_iter().collect();
            topic.create_subscription(&subscription, start, properties).await?;
            Ok(())
        })
        .await
    }

    /// Deletes a subscription.
    ///
    /// # Errors
    /// [`Failure`] when it is not there, or has consumers and is not to be deleted by force.
    pub async fn delete_subscription(&self, name: &TopicName, subscription: &str, force: bool) -> Result<(), Failure> {
        self.with_subscription(name, subscription, move |subscription| async move {
            if subscription.consumer_count() > 0 && !force {
                return Err(Failure::busy("Subscription has active connected consumers"));
            }
            Ok(subscription.delete().await?)
        })
        .await
    }

    /// Moves a subscription.
    ///
    /// # Errors
    /// [`Failure`] when it is not there.
    pub async fn reset_cursor(&self, name: &TopicName, subscription: &str, target: Target) -> Result<(), Failure> {
        self.with_subscription(name, subscription, |one| async move { Ok(one.seek(target).await?) }).await
    }

    /// Counts the next `count` entries of a subscription as acknowledged; all of them if there is no count.
    ///
    /// # Errors
    /// [`Failure`] when it is not there.
    pub async fn skip(&self, name: &TopicName, subscription: &str, count: Option<u64>) -> Result<(), Failure> {
        self.with_subscription(name, subscription, move |subscription| async move {
            match count {
                Some(count) => subscription.skip(count),
                None => subscription.skip_all(),
            }
            Ok(())
        })
        .await
    }

    /// Counts what was published more than `age_ms` ago as acknowledged, for one subscription or for all.
    ///
    /// # Errors
    /// [`Failure`] when it is not there.
    pub async fn expire(&self, name: &TopicName, subscription: Option<&str>, age_ms: u64) -> Result<(), Failure> {
        let wanted = subscription.map(ToOwned::to_owned);
        let before = self.core().clock.wall_ms().saturating_sub(age_ms);
        self.with_topic(name, move |topic| async move {
            let all = topic.subscriptions();
            let chosen: Vec<_> =
                all.into_iter().filter(|one| wanted.as_deref().is_none_or(|wanted| *one.name == *wanted)).collect();
            if let (Some(wanted), true) = (&wanted, chosen.is_empty()) {
                return Err(Failure::no_subscription(wanted));
            }
            for subscription in chosen {
                subscription.expire(before).await?;
            }
            Ok(())
        })
        .await
    }

    /// The `nth` unacknowledged entry of a subscription, counted from 1.
    ///
    /// # Errors
    /// [`Failure`] when there is no such entry.
    pub async fn peek(&self, name: &TopicName, subscription: &str, nth: u64) -> Result<Peeked, Failure> {
        self.with_subscription(name, subscription, move |subscription| async move {
            let found = subscription.peek(nth).await?;
            let (position, entry) = found.ok_or_else(|| Failure::no_topic("Message not found"))?;
            Ok(Peeked { position, entry })
        })
        .await
    }

    /// One stored entry.
    ///
    /// # Errors
    /// [`Failure`] when there is no such entry.
    pub async fn entry(&self, name: &TopicName, position: Position) -> Result<Peeked, Failure> {
        self.with_topic(name, move |topic| async move {
            let log = topic.log().filter(|log| log.contains(position));
            let log = log.ok_or_else(|| Failure::no_topic("Message not found"))?;
            let reading = log.read(position, position, 1, usize::MAX).await.map_err(plerion_topic::Error::from)?;
            let entry = reading.entries.into_iter().next().ok_or_else(|| Failure::no_topic("Message not found"))?;
            Ok(Peeked { position: entry.position, entry: entry.bytes })
        })
        .await
    }

    /// The first entry published at `at`, in ms since the epoch, or later.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn position_by_time(&self, name: &TopicName, at: u64) -> Result<Position, Failure> {
        self.with_topic(name, move |topic| async move { Ok(topic.first_published_at(at).await?) }).await
    }
}
