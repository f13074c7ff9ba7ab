//! Names of topics, namespaces and subscriptions.
//!
//! The rules and the texts of refusals are those of Pulsar 4.0, because clients see them.

mod domain;
mod entity;
mod namespace;
pub mod subscription;
mod topic;
pub mod url;

pub use domain::Domain;
pub use entity::check_entity;
pub use namespace::NamespaceName;
pub use topic::TopicName;

/// A name that breaks a rule; the text says which.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidName(pub String);
