//! Which topics a namespace has, and how they are partitioned.

use std::collections::{BTreeMap, BTreeSet};

use plerion_metadata::SharedMetadataStore;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::null_is_default;
use crate::names::{Domain, NamespaceName, TopicName, url};
use crate::rows::{PAGE, Row};
use crate::{Error, Result};

pub(crate) const PARTITIONED_ROOT: &str = "/admin/partitioned-topics";
pub(crate) const POLICIES_ROOT: &str = "/admin/topic-policies";
/// Where the logs of topics are kept; a topic with a row there exists.
/// Where the rows of topics are: those that say which ledgers a topic has.
pub const LOGS_ROOT: &str = "/managed-ledgers";
/// Where the rows of bundles are, below it by namespace: those that say where a bundle keeps the state of its topics.
pub const BUNDLES_ROOT: &str = "/plerion/bundles";

/// How a topic is partitioned.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionedTopic {
    /// Number of partitions.
    pub partitions: u32,
    /// Free text by key.
    #[serde(deserialize_with = "null_is_default")]
    pub properties: BTreeMap<String, String>,
    /// Set first when the topic is being deleted.
    pub deleted: bool,
    /// Every other key.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What is set for one topic, by the names of the admin interface: the JSON values themselves.
pub type TopicPolicies = Map<String, Value>;

/// The topics.
#[derive(Clone)]
pub struct Topics {
    store: SharedMetadataStore,
}

impl Topics {
    pub(crate) fn new(store: SharedMetadataStore) -> Self {
        Self { store }
    }

    /// Whether the topic, or this partition of it, has a log. A topic that is not persistent never has.
    pub async fn has_log(&self, topic: &TopicName) -> Result<bool> {
        Row::new(&self.store, format!("{LOGS_ROOT}/{}", topic.log_name()), format!("topic {topic}")).exists().await
    }

    /// All topics of a namespace that have a log or are partitions of a partitioned topic, used yet or not; sorted.
    /// System topics are among them, see [`TopicName::is_system`].
    pub async fn list(&self, namespace: &NamespaceName, domain: Domain) -> Result<Vec<TopicName>> {
        let mut topics = BTreeSet::new();
        let row = self.directory(LOGS_ROOT, namespace, domain);
        let mut after: Option<String> = None;
        loop {
            let page = row.children_page(after.as_deref(), PAGE).await?;
            topics.extend(page.iter().filter_map(|name| of_row(namespace, domain, name)));
            if page.len() < PAGE {
                break;
            }
            after = page.into_iter().last();
        }
        for (topic, partitioned) in self.list_partitioned(namespace, domain).await? {
            topics.extend((0..partitioned.partitions).map(|index| topic.partition(index)));
        }
        Ok(topics.into_iter().collect())
    }

    /// The partitioned topics of a namespace, sorted.
    pub async fn list_partitioned(
        &self,
        namespace: &NamespaceName,
        domain: Domain,
    ) -> Result<BTreeMap<TopicName, PartitionedTopic>> {
        let names = self.directory(PARTITIONED_ROOT, namespace, domain).children().await?;
        let mut topics = BTreeMap::new();
        for topic in names.iter().filter_map(|name| of_row(namespace, domain, name)) {
            // One that is deleted meanwhile is no longer part of the list.
            if let Some(found) = self.partitioned_row(&topic).find().await? {
                topics.insert(topic, found.value);
            }
        }
        Ok(topics)
    }

    /// How the topic is partitioned, if it is. A partition itself never is.
    pub async fn partitioned(&self, topic: &TopicName) -> Result<Option<PartitionedTopic>> {
        Ok(self.partitioned_row(topic).find().await?.map(|found| found.value))
    }

    /// Makes a topic partitioned: [`Error::AlreadyExists`] if it is or if there is a topic of this name.
    pub async fn create_partitioned(
        &self,
        topic: &TopicName,
        partitions: u32,
        properties: BTreeMap<String, String>,
    ) -> Result<()> {
        if partitions == 0 {
            return Err(Error::invalid("Number of partitions should be more than 0"));
        }
        if topic.is_partition() {
            return Err(Error::invalid(format!("Partitioned Topic Name should not contain '-partition-': {topic}")));
        }
        if self.has_log(topic).await? {
            return Err(Error::AlreadyExists { what: format!("topic {topic}") });
        }
        let row = PartitionedTopic { partitions, properties, ..PartitionedTopic::default() };
        self.partitioned_row(topic).create(&row).await
    }

    /// Changes how a topic is partitioned; `change` may run several times. Partitions can only be added.
    pub async fn update_partitioned(
        &self,
        topic: &TopicName,
        mut change: impl FnMut(&mut PartitionedTopic) -> Result<()>,
    ) -> Result<PartitionedTopic> {
        self.partitioned_row(topic)
            .update(|partitioned: &mut PartitionedTopic| {
                let before = partitioned.partitions;
                change(partitioned)?;
                if partitioned.partitions < before {
                    return Err(Error::invalid(format!(
                        "Number of partitions must not become smaller: {topic} has {before}"
                    )));
                }
                Ok(())
            })
            .await
    }

    /// Forgets that a topic is partitioned; its partitions' logs are not touched.
    pub async fn delete_partitioned(&self, topic: &TopicName) -> Result<()> {
        self.partitioned_row(topic).delete().await
    }

    /// What is set for a topic and its partitions; empty if nothing is.
    pub async fn policies(&self, topic: &TopicName) -> Result<TopicPolicies> {
        Ok(self.policies_row(topic).find().await?.map(|found| found.value).unwrap_or_default())
    }

    /// Changes what is set for a topic and its partitions; `change` may run several times.
    pub async fn update_policies(
        &self,
        topic: &TopicName,
        mut change: impl FnMut(&mut TopicPolicies) -> Result<()>,
    ) -> Result<TopicPolicies> {
        let decide = |current: Option<TopicPolicies>| {
            let mut policies = current.unwrap_or_default();
            change(&mut policies)?;
            Ok(policies)
        };
        self.policies_row(topic).upsert(decide).await
    }

    /// Unsets everything for a topic; succeeds if nothing is set.
    pub async fn delete_policies(&self, topic: &TopicName) -> Result<()> {
        match self.policies_row(topic).delete().await {
            Err(Error::NotFound { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    fn directory(&self, root: &str, namespace: &NamespaceName, domain: Domain) -> Row<'_> {
        Row::new(&self.store, format!("{root}/{namespace}/{domain}"), format!("topics of namespace {namespace}"))
    }

    fn partitioned_row(&self, topic: &TopicName) -> Row<'_> {
        let path = format!("{PARTITIONED_ROOT}/{}", topic.log_name());
        Row::new(&self.store, path, format!("partitioned topic {topic}"))
    }

    fn policies_row(&self, topic: &TopicName) -> Row<'_> {
        let path = format!("{POLICIES_ROOT}/{}", topic.base().log_name());
        Row::new(&self.store, path, format!("policies of topic {topic}"))
    }
}

/// The topic of a row's name; a row that names none is not listed.
fn of_row(namespace: &NamespaceName, domain: Domain, name: &str) -> Option<TopicName> {
    TopicName::new(domain, namespace, &url::decode(name).ok()?).ok()
}
