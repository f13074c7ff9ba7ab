//! Which topics are served, by which shard, and who may make them.

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use plerion_managed_log::{Config, Context, OpenMode};
use plerion_resources::LOGS_ROOT;
use plerion_resources::names::TopicName;
use plerion_topic::Topic;
use plerion_wire::ServerError;
use rustc_hash::FxHasher;

use crate::core::Core;
use crate::failure::Failure;
use crate::namespaces::BundleName;
use crate::shard::Shard;

/// How long a topic whose log failed is left alone before a producer makes it try again.
const REST: Duration = Duration::from_millis(500);

impl Core {
    /// The shard that serves `name`: all topics of a bundle live on one.
    ///
    /// # Errors
    /// [`Failure`] when its namespace is not there.
    pub(crate) async fn home_of(&self, name: &TopicName) -> Result<u16, Failure> {
        Ok(self.home_of_bundle(&self.namespaces.bundle_of(name).await?))
    }

    /// The shard that serves `bundle`.
    pub(crate) fn home_of_bundle(&self, bundle: &BundleName) -> u16 {
        let shards = self.doors.count() as u64;
        u16::try_from(bundle.key() % shards).unwrap_or(0)
    }

    /// Whether a topic is in the store.
    ///
    /// # Errors
    /// [`Failure`] when the store does not answer.
    pub(crate) async fn topic_exists(&self, name: &TopicName) -> Result<bool, Failure> {
        if !name.is_persistent() {
            return Ok(true);
        }
        Ok(self.resources.topics().has_log(name).await?)
    }
}

/// The path of a topic's row.
pub(crate) fn log_path(name: &TopicName) -> String {
    format!("{LOGS_ROOT}/{}", name.log_name())
}

impl BundleName {
    /// A number for the bundle: what shard and journal it belongs to.
    pub(crate) fn key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.to_string().hash(&mut hasher);
        hasher.finish() >> 20
    }
}

impl Shard {
    pub(crate) async fn home_of(&self, name: &TopicName) -> Result<u16, Failure> {
        self.core.home_of(name).await
    }

    /// The topic a producer wants, made if that is allowed, and opened anew if its log has failed.
    pub(crate) async fn writable_topic(self: &Rc<Self>, name: &TopicName) -> Result<Rc<Topic>, Failure> {
        let topic = self.readable_topic(name, true).await?;
        match topic.failure() {
            None => Ok(topic),
            Some((ago, error)) if ago < REST => {
                Err(Failure::new(ServerError::PersistenceError, format!("Topic {name} takes no messages: {error}")))
            }
            Some(_) => {
                self.unload(name).await?;
                self.readable_topic(name, true).await
            }
        }
    }

    /// The topic a consumer wants, made if that is allowed and `may_create`.
    pub(crate) async fn readable_topic(
        self: &Rc<Self>,
        name: &TopicName,
        may_create: bool,
    ) -> Result<Rc<Topic>, Failure> {
        if let Some(topic) = self.registry.open_topic(name) {
            return Ok(topic);
        }
        let settings = self.settings();
        let (enabled, kind) = match name.is_persistent() {
            true => (settings.topics.persistent, "persistent"),
            false => (settings.topics.non_persistent, "non-persistent"),
        };
        if !enabled {
            return Err(Failure::not_allowed(format!("Broker is unable to load {kind} topic")));
        }
        let mode = if self.may_create(name, may_create).await? { OpenMode::Create } else { OpenMode::MustExist };
        self.topic(name, mode).await
    }

    /// Whether the topic may come into being by being used. A partition may if its topic has it; the name of a
    /// partitioned topic itself is none to publish to.
    async fn may_create(&self, name: &TopicName, may_create: bool) -> Result<bool, Failure> {
        let topics = self.core.resources.topics();
        if let Some(index) = name.partition_index() {
            if let Some(partitioned) = topics.partitioned(&name.base()).await? {
                if index < partitioned.partitions {
                    return Ok(true);
                }
                return Err(Failure::no_topic(format!(
                    "Topic {name} does not exist: {} has {} partitions",
                    name.base(),
                    partitioned.partitions
                )));
            }
        } else if topics.partitioned(name).await?.is_some() {
            return Ok(false);
        }
        let policy = self.core.namespaces.auto_creation(name.namespace()).await?;
        Ok(may_create && policy.allowed)
    }

    /// What the logs of a bundle stand on.
    pub(crate) fn log_context(&self, journal_key: u64) -> Context {
        let settings = self.settings();
        let storage = &settings.storage;
        let config = Config {
            max_entries_per_ledger: u64::from(storage.max_ledger_entries),
            max_bytes_per_ledger: storage.max_ledger_size,
            min_rollover: storage.min_ledger_age,
            max_rollover: storage.max_ledger_age,
            // What waits is bounded by the connections' publish budgets.
            max_waiting_bytes: usize::MAX,
            skip_unreadable: storage.skip_unreadable,
            ..Config::default()
        };
        Context {
            store: self.store.clone(),
            metadata: self.core.metadata.clone(),
            clock: self.core.clock.clone(),
            config: Rc::new(config),
            journal_key,
        }
    }
}
