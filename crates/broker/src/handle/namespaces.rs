//! What administrators do with namespaces and their topics.

use plerion_resources::names::{NamespaceName, TopicName};

use super::Handle;
use crate::failure::Failure;
use crate::namespaces::BundleName;
use crate::policies::Scope;

impl Handle {
    /// The bundles of a namespace.
    ///
    /// # Errors
    /// [`Failure`] when it is not there.
    pub async fn bundles(&self, namespace: &NamespaceName) -> Result<Vec<BundleName>, Failure> {
        self.core().namespaces.bundles(namespace).await
    }

    /// Follows the policies of a namespace as they are stored, that it is gone included; in force when this returns.
    ///
    /// # Errors
    /// [`Failure`] when the broker is stopping.
    pub async fn policies_changed(&self, namespace: &NamespaceName) -> Result<(), Failure> {
        self.follow(Scope::Namespace(namespace.clone())).await
    }

    /// Follows the policies of a topic and its partitions as they are stored; in force when this returns.
    ///
    /// # Errors
    /// [`Failure`] when the broker is stopping.
    pub async fn topic_policies_changed(&self, topic: &TopicName) -> Result<(), Failure> {
        self.follow(Scope::Topic(topic.base())).await
    }

    async fn follow(&self, scope: Scope) -> Result<(), Failure> {
        self.core().forget(&scope);
        for home in 0..self.core().doors.count() {
            let scope = scope.clone();
            let home = u16::try_from(home).unwrap_or(u16::MAX);
            self.on(home, move |shard| async move { shard.apply_policies_of(&scope).await }).await?;
        }
        Ok(())
    }

    /// Closes a bundle with all its topics, so that clients come back and they are opened anew.
    ///
    /// # Errors
    /// [`Failure`] when the broker is stopping.
    pub async fn unload_bundle(&self, bundle: &BundleName) -> Result<(), Failure> {
        let home = self.core().home_of_bundle(bundle);
        let bundle = bundle.clone();
        self.on(home, move |shard| async move { shard.close_bundle(&bundle).await }).await
    }

    /// Closes every bundle of a namespace.
    ///
    /// # Errors
    /// [`Failure`] when it is not there.
    pub async fn unload_namespace(&self, namespace: &NamespaceName) -> Result<(), Failure> {
        for bundle in self.bundles(namespace).await? {
            self.unload_bundle(&bundle).await?;
        }
        // Topics without a bundle's log: the non-persistent ones.
        for home in 0..self.core().doors.count() {
            let namespace = namespace.clone();
            let home = u16::try_from(home).unwrap_or(u16::MAX);
            self.on(home, move |shard| async move {
                for topic in shard.registry.topics() {
                    if *topic.name().namespace() == namespace {
                        // It has nothing that could be lost.
                        let _ = shard.unload(topic.name()).await;
                    }
                }
            })
            .await?;
        }
        Ok(())
    }
}
