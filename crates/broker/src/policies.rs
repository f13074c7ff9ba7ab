//! The policies in force: a topic's own, over those of its namespace, over the settings.

use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt;
use plerion_managed_log::Retention;
use plerion_metadata::NotificationKind;
use plerion_resources::TopicPolicies;
use plerion_resources::names::{NamespaceName, TopicName};
use plerion_resources::policies::{self, AutoSubscriptionCreation, Policies};
use plerion_topic::{Overrides, Topic};
use serde::de::DeserializeOwned;

use crate::core::Core;
use crate::failure::Failure;
use crate::shard::Shard;

#[cfg(test)]
mod tests;

/// Where policies are kept, of namespaces and of topics, and the bundles.
const NAMESPACES: &str = "/admin/policies";
const LOCAL: &str = "/admin/local-policies";
const TOPICS: &str = "/admin/topic-policies";

/// The topics that a change of policies concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    Namespace(NamespaceName),
    /// A topic and its partitions.
    Topic(TopicName),
}

impl Scope {
    /// What a change of the row at `path` concerns. A row that is not understood concerns everything.
    fn of(path: &str) -> Self {
        let below = |root: &str| path.strip_prefix(root)?.strip_prefix('/');
        if let Some(name) = below(TOPICS) {
            return TopicName::from_log_name(name).map_or(Self::Everything, |topic| Self::Topic(topic.base()));
        }
        let name = below(NAMESPACES).or_else(|| below(LOCAL));
        name.and_then(|name| name.parse().ok()).map_or(Self::Everything, Self::Namespace)
    }

    fn includes(&self, topic: &TopicName) -> bool {
        match self {
            Self::Everything => true,
            Self::Namespace(namespace) => topic.namespace() == namespace,
            Self::Topic(base) => topic.namespace() == base.namespace() && topic.base() == *base,
        }
    }
}

impl Core {
    /// Follows changes of policies that are made elsewhere.
    ///
    /// # Errors
    /// What the metadata store says.
    pub(crate) async fn follow_policies(self: &Arc<Self>) -> Result<(), plerion_metadata::Error> {
        for root in [NAMESPACES, LOCAL, TOPICS] {
            let mut changes = self.metadata.watch(root).await?;
            let core: Weak<Self> = Arc::downgrade(self);
            tokio::spawn(async move {
                while let Some(change) = changes.next().await {
                    let Some(core) = core.upgrade() else { return };
                    let scope = match change.kind {
                        // The rows below are told of themselves.
                        NotificationKind::ChildrenChanged => continue,
                        NotificationKind::Invalidated => Scope::Everything,
                        _ => Scope::of(&change.path),
                    };
                    core.forget(&scope);
                    for shard in 0..core.doors.count() {
                        let scope = scope.clone();
                        core.doors.call(shard, move |shard| {
                            let shard = shard.clone();
                            tokio::task::spawn_local(async move { shard.apply_policies_of(&scope).await });
                        });
                    }
                }
            });
        }
        Ok(())
    }

    /// Forgets what was read before a change.
    pub(crate) fn forget(&self, scope: &Scope) {
        match scope {
            Scope::Everything => self.namespaces.forget_all(),
            Scope::Namespace(namespace) => self.namespaces.forget(namespace),
            Scope::Topic(topic) => self.namespaces.forget(topic.namespace()),
        }
    }

    /// What is set for a topic.
    ///
    /// # Errors
    /// [`Failure`] when its namespace is not there, or the store does not answer.
    pub(crate) async fn overrides(&self, topic: &TopicName) -> Result<Overrides, Failure> {
        let namespace = self.namespaces.policies(topic.namespace()).await?;
        let own = match self.settings.current().topics.topic_policies {
            true => self.resources.topics().policies(topic).await?,
            false => TopicPolicies::new(),
        };
        Ok(overrides(&own, &namespace))
    }
}

impl Shard {
    /// Puts the policies of a topic in force.
    ///
    /// # Errors
    /// [`Failure`] when its namespace is not there, or the store does not answer.
    pub(crate) async fn apply_policies(&self, topic: &Rc<Topic>) -> Result<(), Failure> {
        loop {
            let changes = self.core.namespaces.changes();
            let overrides = self.core.overrides(topic.name()).await?;
            // Whoever changes something meanwhile may be done before this, and must have the last word.
            if self.core.namespaces.changes() == changes {
                topic.set_overrides(overrides);
                break;
            }
        }
        self.apply_deduplication(topic).await
    }

    /// Puts the policies of the open topics in `scope` in force.
    pub(crate) async fn apply_policies_of(&self, scope: &Scope) {
        for topic in self.registry.topics().iter().filter(|topic| scope.includes(topic.name())) {
            if let Err(failure) = self.apply_policies(topic).await {
                tracing::warn!(topic = %topic.name(), %failure, "changed policies not followed");
            }
        }
    }

    /// Begins or ends deduplication on a topic, as is set for it.
    ///
    /// # Errors
    /// [`Failure`] when it cannot begin, because what was stored cannot be read: the topic must not be published to,
    /// lest it take what it has already.
    pub(crate) async fn apply_deduplication(&self, topic: &Rc<Topic>) -> Result<(), Failure> {
        let wanted = topic.overrides().deduplication.unwrap_or_else(|| self.settings().deduplication.enabled);
        Ok(topic.set_deduplication(wanted).await?)
    }
}

/// A topic's policies over those of its namespace. A value of the wrong type counts as not set.
fn overrides(own: &TopicPolicies, namespace: &Policies) -> Overrides {
    let most = |name: &str, namespace: Option<i32>| {
        let most = read::<i64>(own, name).or_else(|| namespace.map(i64::from))?;
        // Pulsar takes a negative limit for none.
        Some(u32::try_from(most.max(0)).unwrap_or(u32::MAX))
    };
    let auto_subscription = read::<AutoSubscriptionCreation>(own, "autoSubscriptionCreation")
        .or(namespace.auto_subscription_creation)
        .map(|policy| policy.allow_auto_subscription_creation);
    let ttl = read::<i64>(own, "messageTTL").or_else(|| namespace.message_ttl_in_seconds.map(i64::from));
    let retention = read::<policies::Retention>(own, "retention").or(namespace.retention_policies);
    Overrides {
        max_producers: most("maxProducers", namespace.max_producers_per_topic),
        max_consumers: most("maxConsumers", namespace.max_consumers_per_topic),
        max_consumers_per_subscription: most("maxConsumersPerSubscription", namespace.max_consumers_per_subscription),
        max_subscriptions: most("maxSubscriptionsPerTopic", namespace.max_subscriptions_per_topic),
        max_unacked_per_consumer: most("maxUnackedMessagesOnConsumer", namespace.max_unacked_messages_per_consumer),
        max_unacked_per_subscription: most(
            "maxUnackedMessagesOnSubscription",
            namespace.max_unacked_messages_per_subscription,
        ),
        auto_create_subscription: auto_subscription,
        // A namespace cannot take back what the settings demand.
        encryption_required: namespace.encryption_required.then_some(true),
        enforce_schema: read(own, "schemaValidationEnforced")
            .or(Some(namespace.schema_validation_enforced))
            .filter(|enforced| *enforced),
        deduplication: read(own, "deduplicationEnabled").or(namespace.deduplication_enabled),
        message_ttl: ttl.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0))),
        retention: retention
            .map(|limits| Retention { minutes: i64::from(limits.time_minutes), megabytes: limits.size_mb }),
    }
}

fn read<T: DeserializeOwned>(policies: &TopicPolicies, name: &str) -> Option<T> {
    T::deserialize(policies.get(name)?).ok()
}
