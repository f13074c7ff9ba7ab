//! What a broker stands on.

use plerion_clock::SharedClock;
use plerion_metadata::SharedMetadataStore;
use plerion_resources::names::TopicName;

use super::Handle;
use crate::failure::Failure;
use crate::namespaces::BundleName;

impl Handle {
    /// The time as the broker knows it.
    pub fn clock(&self) -> &SharedClock {
        &self.core().clock
    }

    /// The store of everything about the cluster that is not a message.
    pub fn metadata(&self) -> &SharedMetadataStore {
        &self.core().metadata
    }

    /// The bundle a topic is in, whether or not the topic is there.
    ///
    /// # Errors
    /// [`Failure`] when its namespace is not there.
    pub async fn bundle(&self, name: &TopicName) -> Result<BundleName, Failure> {
        self.core().namespaces.bundle_of(name).await
    }
}
