//! What holds for the topics of a namespace, kept at hand.
//!
//! The cache is a hint: whoever changes a namespace has it forgotten, and so does a watch on the metadata.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use plerion_config::{LiveSettings, TopicType};
use plerion_placement::bundle::{BundleRange, Bundles};
use plerion_resources::names::{NamespaceName, TopicName};
use plerion_resources::policies::Policies;
use plerion_resources::{BUNDLES_ROOT, Resources};
use rustc_hash::FxHashMap;

use crate::failure::Failure;

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
        format!("{BUNDLES_ROOT}/{self}")
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
    known: RwLock<FxHashMap<NamespaceName, Arc<Namespace>>>,
    changes: AtomicU64,
}

/// A namespace as it was read.
struct Namespace {
    policies: Policies,
    bundles: Bundles,
}

impl Namespaces {
    pub(crate) fn new(resources: Resources, settings: Arc<LiveSettings>) -> Self {
        Self { resources, settings, known: RwLock::default(), changes: AtomicU64::new(0) }
    }

    async fn namespace(&self, name: &NamespaceName) -> Result<Arc<Namespace>, Failure> {
        if let Some(known) = self.known.read().get(name) {
            return Ok(known.clone());
        }
        let changes = self.changes();
        let namespaces = self.resources.namespaces();
        let policies = namespaces.policies(name).await.map_err(|error| match error {
            plerion_resources::Error::NotFound { .. } => Failure::no_topic(format!("Namespace {name} does not exist")),
            error => error.into(),
        })?;
        let bundles = namespaces.bundles(name).await?.value;
        let bundles = Bundles::from_request(&bundles.boundaries)
            .map_err(|error| Failure::not_ready(format!("the bundles of namespace {name} cannot be read: {error}")))?;
        let read = Arc::new(Namespace { policies, bundles });
        let mut known = self.known.write();
        if self.changes() == changes {
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

    /// The policies of a namespace.
    ///
    /// # Errors
    /// [`Failure`] of absence if it is not there.
    pub(crate) async fn policies(&self, name: &NamespaceName) -> Result<Policies, Failure> {
        Ok(self.namespace(name).await?.policies.clone())
    }

    /// Forgets what was read of a namespace: it is read again before it is next used.
    pub(crate) fn forget(&self, name: &NamespaceName) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.known.write().remove(name);
    }

    /// Forgets everything.
    pub(crate) fn forget_all(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.known.write().clear();
    }

    /// Counts the times something was forgotten: what was read before is not to be gone by after.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}
