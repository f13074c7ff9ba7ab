//! GET_SCHEMA, GET_OR_CREATE_SCHEMA, and the schemas that producers and consumers bring.

use std::rc::Rc;

use bytes::Bytes;
use plerion_managed_log::OpenMode;
use plerion_resources::names::TopicName;
use plerion_topic::Topic;
use plerion_wire::ServerError;
use plerion_wire::proto::{
    CommandGetOrCreateSchema, CommandGetOrCreateSchemaResponse, CommandGetSchema, CommandGetSchemaResponse, Schema,
    schema::Type,
};

use super::Caller;
use crate::authorizer::Operation;
use crate::failure::Failure;
use crate::schemas::{self, from_wire, to_wire, version_bytes, version_number};
use crate::shard::Shard;

/// Registers the schema a producer brings; its version.
pub(super) async fn for_producer(
    shard: &Rc<Shard>,
    topic: &Topic,
    schema: Option<&Schema>,
) -> Result<Option<Bytes>, Failure> {
    let (core, name) = (&shard.core, topic.name());
    let enforced = topic.overrides().enforce_schema.unwrap_or(shard.settings().topics.enforce_schema);
    match schema.filter(|schema| !matches!(schema.r#type(), Type::None | Type::AutoConsume)) {
        Some(schema) => {
            let version = schemas::register(core, name, from_wire(schema, core.clock.wall_ms())?).await?;
            Ok(Some(version_bytes(version)))
        }
        None if enforced && schemas::latest(core, name).await?.is_some() => Err(Failure::new(
            ServerError::IncompatibleSchema,
            "Producers cannot connect or send message without a schema to topics with a schema when \
                 SchemaValidationEnforced is enabled",
        )),
        None => Ok(None),
    }
}

/// Registers the schema a consumer brings, where the topic has none and nobody uses it yet.
pub(super) async fn for_consumer(
    shard: &Rc<Shard>,
    name: &TopicName,
    topic: &Topic,
    schema: Option<&Schema>,
) -> Result<(), Failure> {
    let core = &shard.core;
    let Some(schema) = schema.filter(|schema| !matches!(schema.r#type(), Type::None | Type::AutoConsume)) else {
        return Ok(());
    };
    if topic.is_unused() || schemas::latest(core, name).await?.is_some() {
        schemas::register(core, name, from_wire(schema, core.clock.wall_ms())?).await?;
    }
    Ok(())
}

/// Gives a topic's schema.
pub(super) fn get(caller: Caller, command: CommandGetSchema) {
    let request_id = command.request_id;
    caller.respond(request_id, move |caller| async move {
        let response = match find(&caller, &command).await {
            Ok((version, schema)) => CommandGetSchemaResponse {
                request_id,
                schema: Some(schema),
                schema_version: Some(version_bytes(version)),
                ..CommandGetSchemaResponse::default()
            },
            Err(failure) => CommandGetSchemaResponse {
                request_id,
                error_code: Some(failure.code.into()),
                error_message: Some(failure.message),
                ..CommandGetSchemaResponse::default()
            },
        };
        Ok(response)
    });
}

async fn find(caller: &Caller, command: &CommandGetSchema) -> Result<(u64, Schema), Failure> {
    let name = caller.topic(&command.topic)?;
    caller.authorize(&Operation::Schema(&name))?;
    let core = &caller.shard.core;
    let found = match &command.schema_version {
        None => schemas::latest(core, &name).await?,
        Some(version) => match version_number(version) {
            Some(version) => schemas::version(core, &name, version).await?,
            None => return Err(Failure::new(ServerError::IncompatibleSchema, "Empty schema version")),
        },
    };
    let (version, schema) =
        found.ok_or_else(|| Failure::no_topic(format!("Topic {name} has no schema, or not this version")))?;
    Ok((version, to_wire(&name, schema)))
}

/// Gives the version of a schema, registering it if need be.
pub(super) fn get_or_create(caller: Caller, command: CommandGetOrCreateSchema) {
    let request_id = command.request_id;
    caller.respond(request_id, move |caller| async move {
        let response = match register(&caller, &command).await {
            Ok(version) => CommandGetOrCreateSchemaResponse {
                request_id,
                schema_version: Some(version_bytes(version)),
                ..CommandGetOrCreateSchemaResponse::default()
            },
            Err(failure) => CommandGetOrCreateSchemaResponse {
                request_id,
                error_code: Some(failure.code.into()),
                error_message: Some(failure.message),
                ..CommandGetOrCreateSchemaResponse::default()
            },
        };
        Ok(response)
    });
}

async fn register(caller: &Caller, command: &CommandGetOrCreateSchema) -> Result<u64, Failure> {
    let name = caller.topic(&command.topic)?;
    caller.authorize(&Operation::Schema(&name))?;
    let home = caller.shard.home_of(&name).await?;
    let topic = name.clone();
    caller
        .shard
        .on(home, move |shard| async move { shard.topic(&topic, OpenMode::MustExist).await.map(drop) })
        .await??;
    let core = &caller.shard.core;
    schemas::register(core, &name, from_wire(&command.schema, core.clock.wall_ms())?).await
}
