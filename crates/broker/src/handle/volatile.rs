//! Topics that keep nothing: they exist while they are open.

use plerion_managed_log::OpenMode;
use plerion_resources::names::TopicName;

use super::Handle;
use crate::failure::Failure;

impl Handle {
    /// Whether a topic is open now.
    ///
    /// # Errors
    /// [`Failure`] when its namespace is not there.
    pub async fn is_open(&self, name: &TopicName) -> Result<bool, Failure> {
        self.at(name, |shard, name| async move { Ok(shard.registry.open_topic(&name).is_some()) }).await
    }

    /// Opens a non-persistent topic, unless it is open.
    ///
    /// # Errors
    /// [`Failure`] when its namespace is not there.
    pub async fn open_topic(&self, name: &TopicName) -> Result<(), Failure> {
        self.at(name, |shard, name| async move { shard.topic(&name, OpenMode::Create).await.map(drop) }).await
    }
}
