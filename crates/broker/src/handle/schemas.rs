//! What administrators do with schemas.

use plerion_resources::names::TopicName;
use plerion_resources::schemas::Schema;

use super::Handle;
use crate::failure::Failure;
use crate::schemas;

impl Handle {
    /// Registers a schema of a topic by the rules for those that producers bring; its version.
    ///
    /// # Errors
    /// [`Failure`] with `IncompatibleSchema` when the topic's schemas rule it out.
    pub async fn register_schema(&self, name: &TopicName, schema: Schema) -> Result<u64, Failure> {
        schemas::register(self.core(), name, schema).await
    }
}
