//! Schemas between the wire and the store.

use std::collections::BTreeMap;

use bytes::Bytes;
use plerion_resources::Error;
use plerion_resources::names::TopicName;
use plerion_resources::schemas::{Schema, SchemaType, StoredSchema};
use plerion_wire::ServerError;
use plerion_wire::proto;

use crate::core::Core;
use crate::failure::Failure;

/// A schema as a client brings it.
///
/// # Errors
/// When its type is not known.
pub(crate) fn from_wire(schema: &proto::Schema, now_ms: u64) -> Result<Schema, Failure> {
    let kind = SchemaType::from_number(schema.r#type).ok_or_else(|| {
        Failure::new(ServerError::IncompatibleSchema, format!("unknown schema type {}", schema.r#type))
    })?;
    let properties: BTreeMap<String, String> =
        schema.properties.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect();
    Ok(Schema {
        schema_type: kind,
        data: schema.schema_data.clone(),
        properties,
        user: String::new(),
        timestamp_ms: now_ms,
    })
}

/// A stored schema as clients get it.
pub(crate) fn to_wire(name: &TopicName, stored: Schema) -> proto::Schema {
    proto::Schema {
        name: name.local_name().to_owned(),
        schema_data: stored.data,
        r#type: stored.schema_type.number(),
        properties: stored.properties.into_iter().map(|(key, value)| proto::KeyValue { key, value }).collect(),
    }
}

/// A version as clients see it.
pub(crate) fn version_bytes(version: u64) -> Bytes {
    Bytes::copy_from_slice(&version.to_be_bytes())
}

/// The version in a client's bytes; `None` if they are none.
pub(crate) fn version_number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// Registers a schema unless the topic has it; its version. A topic keeps the type of its first schema.
///
/// # Errors
/// [`ServerError::IncompatibleSchema`] for another type.
pub(crate) async fn register(core: &Core, name: &TopicName, schema: Schema) -> Result<u64, Failure> {
    let wanted = schema.schema_type;
    let check = |versions: &[StoredSchema]| match versions.iter().rev().find_map(|version| version.schema.as_ref()) {
        Some(latest) if latest.schema_type != wanted => Err(Error::Invalid {
            why: format!(
                "Incompatible schema: exists schema type {}, new schema type {}",
                latest.schema_type.name(),
                wanted.name()
            ),
        }),
        _ => Ok(()),
    };
    match core.resources.schemas().add(&name.base(), &schema, check).await {
        Ok(added) => Ok(added.version()),
        Err(Error::Invalid { why }) => Err(Failure::new(ServerError::IncompatibleSchema, why)),
        Err(error) => Err(error.into()),
    }
}

/// The latest schema of a topic, with its version.
pub(crate) async fn latest(core: &Core, name: &TopicName) -> Result<Option<(u64, Schema)>, Failure> {
    let found = core.resources.schemas().latest(&name.base()).await?;
    Ok(found.and_then(|stored| Some((stored.version, stored.schema?))))
}

/// One version of a topic's schema.
pub(crate) async fn version(core: &Core, name: &TopicName, version: u64) -> Result<Option<(u64, Schema)>, Failure> {
    let found = core.resources.schemas().get(&name.base(), version).await?;
    Ok(found.and_then(|stored| Some((stored.version, stored.schema?))))
}
