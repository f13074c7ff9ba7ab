//! Who may do what.

use std::sync::Arc;

use plerion_resources::names::{NamespaceName, TopicName};

/// Who a client is, as its authentication says; `None` where nothing was asked of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role(pub Option<Arc<str>>);

/// What a client wants to do. Every command and every REST verb names one of these before anything else happens.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Find a topic's owner or its number of partitions.
    Lookup(&'a TopicName),
    /// Publish to a topic.
    Produce(&'a TopicName),
    /// Consume from a topic under a subscription.
    Consume(&'a TopicName, &'a str),
    /// List a namespace's topics.
    ListTopics(&'a NamespaceName),
    /// Read or register a topic's schemas.
    Schema(&'a TopicName),
    /// Manage a topic: create, delete, unload, inspect, change its policies.
    ManageTopic(&'a TopicName),
    /// Manage a namespace and its policies.
    ManageNamespace(&'a NamespaceName),
    /// Manage a tenant.
    ManageTenant(&'a str),
    /// Manage or inspect the cluster and its brokers.
    ManageCluster,
}

impl Operation<'_> {
    /// What a refused client is told, in Pulsar's words, which some clients look for.
    pub fn refusal(&self) -> &'static str {
        match self {
            Self::Lookup(_) => "Client is not authorized to Get Partition Metadata",
            Self::Produce(_) => "Client is not authorized to Produce",
            Self::Consume(..) => "Client is not authorized to subscribe",
            Self::ListTopics(_) => "Client is not authorized to list topics",
            Self::Schema(_) => "Client is not authorized to access schemas",
            Self::ManageTopic(_) | Self::ManageNamespace(_) | Self::ManageTenant(_) | Self::ManageCluster => {
                "Client is not authorized to administer this resource"
            }
        }
    }
}

/// Decides who may do what.
pub trait Authorizer: Send + Sync + 'static {
    /// Whether `role` may do `operation`.
    fn allows(&self, role: &Role, operation: &Operation<'_>) -> bool;
}

/// Allows everything: what a broker without authorization does.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn allows(&self, _role: &Role, _operation: &Operation<'_>) -> bool {
        true
    }
}
