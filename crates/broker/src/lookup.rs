//! Who serves a topic, and how many partitions it has: answered from metadata, never from loaded topics.

use plerion_config::TopicType;
use plerion_resources::Error;
use plerion_resources::names::TopicName;
use plerion_wire::ServerError;

use crate::addresses::Advertised;
use crate::core::Core;
use crate::failure::Failure;

/// The addresses of the broker that serves `name`, for clients of `listener`.
pub(crate) async fn locate(core: &Core, name: &TopicName, listener: Option<&str>) -> Result<Advertised, Failure> {
    let _permit = core
        .lookups
        .try_acquire()
        .map_err(|_| Failure::new(ServerError::TooManyRequests, "too many lookups are being served"))?;
    let addresses = core.addresses.of(listener).map_err(|error| Failure::not_ready(error.to_string()))?;
    core.namespaces.require(name.namespace()).await?;
    Ok(addresses)
}

/// How many partitions the topic called `name` has; 0 if it is not partitioned. A topic that is not there is made if
/// topics of its namespace come into being with partitions and `may_create` allows it.
pub(crate) async fn partitions(core: &Core, name: &TopicName, may_create: bool) -> Result<u32, Failure> {
    core.namespaces.require(name.namespace()).await?;
    if let Some(partitioned) = core.resources.topics().partitioned(name).await? {
        return Ok(partitioned.partitions);
    }
    if name.partition_index().is_some() || core.topic_exists(name).await? {
        return Ok(0);
    }
    let policy = core.namespaces.auto_creation(name.namespace()).await?;
    match policy.kind {
        _ if !may_create || !policy.allowed => Err(Failure::no_topic(String::new())),
        TopicType::NonPartitioned => Ok(0),
        TopicType::Partitioned => {
            let partitions = policy.partitions;
            match core.resources.topics().create_partitioned(name, partitions, Default::default()).await {
                Ok(()) => Ok(partitions),
                // Somebody else was faster.
                Err(Error::AlreadyExists { .. }) => {
                    Ok(core.resources.topics().partitioned(name).await?.map_or(0, |made| made.partitions))
                }
                Err(error) => Err(error.into()),
            }
        }
    }
}
