//! What holds for the topics of a namespace, kept at hand.
//!
//! The cache is a hint: a watch on the metadata empties what has changed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use parking_lot::RwLock;
use plerion_config::{LiveSettings, TopicType};
use plerion_managed_log::Retention;
use plerion_metadata::{NotificationKind, SharedMetadataStore};
use plerion_placement::bundle::{BundleRange, Bundles};
use plerion_resources::Resources;
use plerion_resources::names::{NamespaceName, TopicName};
use plerion_resources::policies::Policies;
use rustc_hash::FxHashMap;

use crate::failure::Failure;

/// Where changes of what is cached are seen.
const WATCHED: [&str; 2] = ["/admin/policies", "/admin/local-policies"];

/// A bundle of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BundleName {
    /// The namespace.
    pub namespace: NamespaceName,
    /// Its part of the hash ring.
    pub range: BundleRange,
}

impl BundleName {
    /// The path of its row.
    pub(crate) fn path(&self) -> String {
        format!("/plerion/bundles/{self}")
    }
}

impl fmt::Display for BundleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.range)
    }
}

/// Whether topics come into being by being used, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AutoCreation {
    pub(crate) allowed: bool,
    pub(crate) kind: TopicType,
    pub(crate) partitions: u32,
}

/// The namespaces that topics are in.
pub(crate) struct Namespaces {
    resources: Resources,
    settings: Arc<LiveSettings>,
    known: Arc<Known>,
}

#[derive(Default)]
struct Known {
    namespaces: RwLock<FxHashMap<NamespaceName, Arc<Namespace>>>,
    /// Counts the times something was forgotten, so that what was read before is not remembered after.
    forgotten: AtomicU64,
}

/// A namespace as it was read.
struct Namespace {
    policies: Policies,
    bundles: Bundles,
}

impl Known {
    fn forget(&self, path: &str) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        let name = WATCHED.iter().find_map(|root| path.strip_prefix(root)?.strip_prefix('/'));
        let mut namespaces = self.namespaces.write();
        match name.and_then(|name| name.parse::<NamespaceName>().ok()) {
            Some(name) => {
                namespaces.remove(&name);
            }
            None => namespaces.clear(),
        }
    }
}

impl Namespaces {
    pub(crate) fn new(resources: Resources, settings: Arc<LiveSettings>) -> Self {
        Self { resources, settings, known: Arc::default() }
    }

    /// Follows the changes of policies from now on.
    ///
    /// # Errors
    /// What the metadata store says.
    pub(crate) async fn follow(&self, metadata: &SharedMetadataStore) -> Result<(), plerion_metadata::Error> {
        for root in WATCHED {
            let mut changes = metadata.watch(root).await?;
            let known = self.known.clone();
            tokio::spawn(async move {
                while let Some(change) = changes.next().await {
                    match change.kind {
                        NotificationKind::Invalidated => known.forget("/"),
                        _ => known.forget(&change.path),
                    }
                }
            });
        }
        Ok(())
    }

    async fn namespace(&self, name: &NamespaceName) -> Result<Arc<Namespace>, Failure> {
        if let Some(known) = self.known.namespaces.read().get(name) {
            return Ok(known.clone());
        }
        let forgotten = self.known.forgotten.load(Ordering::Acquire);
        let namespaces = self.resources.namespaces();
        let policies = namespaces.policies(name).await.map_err(|error| match error {
            plerion_resources::Error::NotFound { .. } => Failure::no_topic(format!("Namespace {name} does not exist")),
            error => error.into(),
        })?;
        let bundles = namespaces.bundles(name).await?.value;
        let bundles = Bundles::from_request(&bundles.boundaries)
            .map_err(|error| Failure::not_ready(format!("the bundles of namespace {name} cannot be read: {error}")))?;
        let read = Arc::new(Namespace { policies, bundles });
        let mut known = self.known.namespaces.write();
        if self.known.forgotten.load(Ordering::Acquire) == forgotten {
            known.insert(name.clone(), read.clone());
        }
        Ok(read)
    }

    /// Makes sure that a namespace is there.
    ///
    /// # Errors
    /// [`Failure`] of absence if it is not.
    pub(crate) async fn require(&self, name: &NamespaceName) -> Result<(), Failure> {
        let namespace = self.namespace(name).await?;
        if namespace.policies.deleted {
            return Err(Failure::no_topic(format!("Namespace {name} is being deleted")));
        }
        Ok(())
    }

    /// The bundle a topic is in.
    ///
    /// # Errors
    /// [`Failure`] of absence if its namespace is not there.
    pub(crate) async fn bundle_of(&self, topic: &TopicName) -> Result<BundleName, Failure> {
        let namespace = self.namespace(topic.namespace()).await?;
        let range = namespace.bundles.find_topic(topic.as_str());
        Ok(BundleName { namespace: topic.namespace().clone(), range })
    }

    /// The bundles of a namespace.
    ///
    /// # Errors
    /// [`Failure`] of absence if it is not there.
    pub(crate) async fn bundles(&self, name: &NamespaceName) -> Result<Vec<BundleName>, Failure> {
        let namespace = self.namespace(name).await?;
        Ok(namespace.bundles.iter().map(|range| BundleName { namespace: name.clone(), range }).collect())
    }

    /// Whether topics of a namespace come into being by being used.
    ///
    /// # Errors
    /// [`Failure`] of absence if it is not there.
    pub(crate) async fn auto_creation(&self, name: &NamespaceName) -> Result<AutoCreation, Failure> {
        let namespace = self.namespace(name).await?;
        let settings = self.settings.current();
        let default = AutoCreation {
            allowed: settings.topics.auto_create,
            kind: settings.topics.auto_create_type,
            partitions: settings.topics.default_partitions,
        };
        Ok(match &namespace.policies.auto_topic_creation {
            None => default,
            Some(policy) => AutoCreation {
                allowed: policy.allow_auto_topic_creation,
                kind: match policy.topic_type.as_deref() {
                    Some("partitioned") => TopicType::Partitioned,
                    Some(_) => TopicType::NonPartitioned,
                    None => default.kind,
                },
                partitions: policy.default_num_partitions.unwrap_or(default.partitions),
            },
        })
    }

    /// The policies of a topic's namespace, if they can be had.
    async fn policies(&self, topic: &TopicName) -> Option<Arc<Namespace>> {
        self.namespace(topic.namespace()).await.ok()
    }

    /// What a topic's namespace says of retention.
    pub(crate) async fn retention(&self, topic: &TopicName) -> Option<Retention> {
        let namespace = self.policies(topic).await?;
        let retention = namespace.policies.retention_policies.as_ref()?;
        Some(Retention { minutes: i64::from(retention.time_minutes), megabytes: retention.size_mb })
    }

    /// What a topic's namespace says of the age at which messages expire.
    pub(crate) async fn message_ttl(&self, topic: &TopicName) -> Option<Duration> {
        let namespace = self.policies(topic).await?;
        u64::try_from(namespace.policies.message_ttl_in_seconds?).ok().map(Duration::from_secs)
    }

    /// What a topic's namespace says of deduplication.
    pub(crate) async fn deduplication(&self, topic: &TopicName) -> Option<bool> {
        self.policies(topic).await?.policies.deduplication_enabled
    }
}
