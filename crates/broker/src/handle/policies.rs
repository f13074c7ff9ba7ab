//! Waiting for the broker to know what was changed.

use std::time::Duration;

use plerion_resources::Error;
use plerion_resources::names::{Domain, NamespaceName, TopicName};

use super::Handle;
use crate::failure::Failure;

/// How long a change may take to reach the broker. It takes as long as the watch of the metadata store.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked for.
const INTERVAL: Duration = Duration::from_millis(1);

impl Handle {
    /// Returns once the broker knows whether a namespace is there and deduplicates, as it is stored. Changes of policies
    /// reach it through a watch, shortly after they were made.
    ///
    /// # Errors
    /// [`Failure`] when the store does not answer, or the change does not come through.
    pub async fn policies_followed(&self, namespace: &NamespaceName) -> Result<(), Failure> {
        let topic = TopicName::new(Domain::Persistent, namespace, "any")?;
        let catching_up = async {
            loop {
                let stored = match self.resources().namespaces().policies(namespace).await {
                    Ok(policies) => Some(policies).filter(|policies| !policies.deleted),
                    Err(Error::NotFound { .. }) => None,
                    Err(error) => return Err(error.into()),
                };
                let known = &self.core().namespaces;
                let is_followed = match &stored {
                    Some(policies) => {
                        known.require(namespace).await.is_ok()
                            && known.deduplication(&topic).await == policies.deduplication_enabled
                    }
                    None => known.require(namespace).await.is_err(),
                };
                if is_followed {
                    return Ok(());
                }
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let late = || Failure::not_ready(format!("The change of namespace {namespace} has not reached the broker"));
        tokio::time::timeout(PATIENCE, catching_up).await.unwrap_or_else(|_| Err(late()))
    }
}
