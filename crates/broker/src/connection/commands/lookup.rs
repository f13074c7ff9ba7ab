//! LOOKUP and PARTITIONED_METADATA.

use plerion_wire::ServerError;
use plerion_wire::proto::{
    CommandLookupTopic, CommandLookupTopicResponse, CommandPartitionedTopicMetadata,
    CommandPartitionedTopicMetadataResponse, command_lookup_topic_response::LookupType,
    command_partitioned_topic_metadata_response::LookupType as MetadataLookup,
};

use super::Caller;
use crate::addresses::Advertised;
use crate::authorizer::Operation;
use crate::failure::Failure;
use crate::lookup;

/// Says who serves a topic.
pub(super) fn lookup(caller: Caller, command: CommandLookupTopic) {
    let request_id = command.request_id;
    caller.respond(request_id, move |caller| async move {
        let response = match locate(&caller, &command).await {
            Ok(addresses) => CommandLookupTopicResponse {
                broker_service_url: addresses.broker,
                broker_service_url_tls: addresses.broker_tls,
                response: Some(LookupType::Connect.into()),
                request_id,
                authoritative: Some(true),
                proxy_through_service_url: Some(false),
                ..CommandLookupTopicResponse::default()
            },
            Err(failure) => CommandLookupTopicResponse {
                response: Some(LookupType::Failed.into()),
                request_id,
                error: Some(failure.code.into()),
                message: Some(failure.message),
                ..CommandLookupTopicResponse::default()
            },
        };
        Ok(response)
    });
}

async fn locate(caller: &Caller, command: &CommandLookupTopic) -> Result<Advertised, Failure> {
    let name = caller.topic(&command.topic)?;
    caller.authorize(&Operation::Lookup(&name))?;
    caller.shard.counters().lookup();
    lookup::locate(&caller.shard.core, &name, command.advertised_listener_name.as_deref()).await
}

/// Says how many partitions a topic has.
pub(super) fn partitions(caller: Caller, command: CommandPartitionedTopicMetadata) {
    let request_id = command.request_id;
    caller.respond(request_id, move |caller| async move {
        let response = match count(&caller, &command).await {
            Ok(partitions) => CommandPartitionedTopicMetadataResponse {
                partitions: Some(partitions),
                request_id,
                response: Some(MetadataLookup::Success.into()),
                ..CommandPartitionedTopicMetadataResponse::default()
            },
            Err(failure) => CommandPartitionedTopicMetadataResponse {
                request_id,
                response: Some(MetadataLookup::Failed.into()),
                error: Some(failure.code.into()),
                message: Some(failure.message),
                ..CommandPartitionedTopicMetadataResponse::default()
            },
        };
        Ok(response)
    });
}

async fn count(caller: &Caller, command: &CommandPartitionedTopicMetadata) -> Result<u32, Failure> {
    let name = caller.topic(&command.topic)?;
    caller.authorize(&Operation::Lookup(&name))?;
    let core = &caller.shard.core;
    let _permit = core
        .lookups
        .try_acquire()
        .map_err(|_| Failure::new(ServerError::TooManyRequests, "too many lookups are being served"))?;
    let may_create = command.metadata_auto_creation_enabled.unwrap_or(true);
    lookup::partitions(core, &name, may_create).await
}
