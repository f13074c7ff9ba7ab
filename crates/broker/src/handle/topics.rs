//! What administrators do with topics.

use std::collections::BTreeMap;

use plerion_managed_log::OpenMode;
use plerion_resources::names::{NamespaceName, TopicName};
use plerion_subscription::{Layout, Position};
use plerion_topic::Topic;
use serde::Serialize;

use super::Handle;
use crate::failure::Failure;
use crate::listing::{self, Kind};
use crate::stats::{self, TopicStats};

/// How a topic lies in the store, under the names of Pulsar's REST interface.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Pulsar's PersistentTopicInternalStats and mean the same")]
pub struct InternalStats {
    pub entries_added_counter: u64,
    pub number_of_entries: u64,
    pub total_size: u64,
    pub current_ledger_entries: u64,
    pub current_ledger_size: u64,
    pub last_confirmed_entry: String,
    pub state: &'static str,
    pub ledgers: Vec<LedgerStats>,
    pub cursors: BTreeMap<String, CursorStats>,
    pub schema_ledgers: Vec<LedgerStats>,
    pub waiting_cursors_count: u64,
    pub pending_add_entries_count: u64,
}

/// One ledger of a topic.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Pulsar's LedgerInfo and mean the same")]
pub struct LedgerStats {
    pub ledger_id: u64,
    pub entries: u64,
    pub size: u64,
    pub offloaded: bool,
    pub under_replicated: bool,
}

/// One cursor of a topic.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Pulsar's CursorStats and mean the same")]
pub struct CursorStats {
    pub mark_delete_position: String,
    pub read_position: String,
    pub number_of_entries_since_first_not_acked_message: u64,
    pub individually_deleted_messages: String,
    pub state: &'static str,
    pub active: bool,
}

impl Handle {
    /// Makes a topic that is not partitioned, durably.
    ///
    /// # Errors
    /// [`Failure`] when it is there already.
    pub async fn create_topic(&self, name: &TopicName, properties: BTreeMap<String, String>) -> Result<(), Failure> {
        self.core().namespaces.require(name.namespace()).await?;
        if self.core().topic_exists(name).await? || self.resources().topics().partitioned(name).await?.is_some() {
            return Err(Failure::exists("This topic already exists"));
        }
        self.at(name, move |shard, name| async move {
            let topic = shard.topic(&name, OpenMode::CreateDurably).await?;
            if let Some(log) = topic.log()
                && !properties.is_empty()
            {
                let properties = properties.into_iter().collect();
                log.set_properties(properties).await.map_err(plerion_topic::Error::from)?;
            }
            Ok(())
        })
        .await
    }

    /// Deletes a topic that is not partitioned, or one partition.
    ///
    /// # Errors
    /// [`Failure`] when it is not there, or in use and not to be deleted by force.
    pub async fn delete_topic(&self, name: &TopicName, force: bool) -> Result<(), Failure> {
        self.at(name, move |shard, name| async move { shard.delete(&name, force).await }).await
    }

    /// Closes a topic, so that its clients come back and it is opened anew.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn unload_topic(&self, name: &TopicName) -> Result<(), Failure> {
        self.require_topic(name).await?;
        self.at(name, |shard, name| async move { shard.unload(&name).await }).await
    }

    /// Lets no more messages into a topic; the last one's place.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn terminate_topic(&self, name: &TopicName) -> Result<Position, Failure> {
        self.with_topic(name, |topic| async move { Ok(topic.terminate().await?) }).await
    }

    /// A topic's figures.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn topic_stats(&self, name: &TopicName) -> Result<TopicStats, Failure> {
        let owner = self.broker_id();
        self.with_topic(name, |topic| async move { Ok(stats::topic(&topic, &owner)) }).await
    }

    /// How a topic lies in the store.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn internal_stats(&self, name: &TopicName) -> Result<InternalStats, Failure> {
        self.with_topic(name, |topic| async move {
            internal(&topic).ok_or_else(|| Failure::not_allowed("a non-persistent topic is not stored"))
        })
        .await
    }

    /// A topic's properties.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn topic_properties(&self, name: &TopicName) -> Result<BTreeMap<String, String>, Failure> {
        self.with_topic(name, |topic| async move {
            Ok(topic.log().map(|log| log.properties().into_iter().collect()).unwrap_or_default())
        })
        .await
    }

    /// Replaces a topic's properties.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn set_topic_properties(
        &self,
        name: &TopicName,
        properties: BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        self.with_topic(name, |topic| async move {
            if let Some(log) = topic.log() {
                let properties = properties.into_iter().collect();
                log.set_properties(properties).await.map_err(plerion_topic::Error::from)?;
            }
            Ok(())
        })
        .await
    }

    /// The place of a topic's last message; (−1, −1) if there is none.
    ///
    /// # Errors
    /// [`Failure`] when there is no such topic.
    pub async fn last_position(&self, name: &TopicName) -> Result<Position, Failure> {
        self.with_topic(name, |topic| async move { Ok(topic.last_position().unwrap_or(Position::EARLIEST)) }).await
    }

    /// The full names of a namespace's topics, partitions and all, without those of the system.
    ///
    /// # Errors
    /// [`Failure`] when the stores fail.
    pub async fn topics(&self, namespace: &NamespaceName, kind: Kind) -> Result<Vec<String>, Failure> {
        let namespace = namespace.clone();
        self.on(0, move |shard| async move { listing::topics(&shard, &namespace, kind).await }).await?
    }
}

fn internal(topic: &Topic) -> Option<InternalStats> {
    let log = topic.log()?;
    let stats = log.stats();
    let current = stats.ledgers.last();
    let cursors = topic.subscriptions().into_iter().map(|subscription| {
        let figures = subscription.figures();
        let runs = subscription.acked_runs();
        let runs: Vec<_> = runs
            .iter()
            .map(|(from, to)| format!("({}:{}..{}:{}]", from.ledger, from.entry - 1, to.ledger, to.entry))
            .collect();
        let cursor = CursorStats {
            mark_delete_position: figures.mark_delete.to_string(),
            read_position: figures.read_position.to_string(),
            number_of_entries_since_first_not_acked_message: figures.backlog,
            individually_deleted_messages: format!("[{}]", runs.join(",")),
            state: "Open",
            active: subscription.consumer_count() > 0,
        };
        (subscription.name.to_string(), cursor)
    });
    Some(InternalStats {
        entries_added_counter: topic.published.entries.get(),
        number_of_entries: stats.entries,
        total_size: stats.bytes,
        current_ledger_entries: current.map_or(0, |ledger| ledger.entries),
        current_ledger_size: current.map_or(0, |ledger| ledger.bytes),
        last_confirmed_entry: log.last().to_string(),
        state: if log.terminated().is_some() { "Terminated" } else { "LedgerOpened" },
        ledgers: stats
            .ledgers
            .iter()
            .map(|ledger| LedgerStats {
                ledger_id: ledger.id.0,
                entries: ledger.entries,
                size: ledger.bytes,
                offloaded: false,
                under_replicated: false,
            })
            .collect(),
        cursors: cursors.collect(),
        schema_ledgers: Vec::new(),
        waiting_cursors_count: 0,
        pending_add_entries_count: 0,
    })
}
