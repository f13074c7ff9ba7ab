//! A schema version as stored: one line of JSON that describes it, then its definition as it is.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::schema::{Schema, SchemaType};

#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(rename = "type")]
    schema_type: String,
    #[serde(default)]
    properties: BTreeMap<String, String>,
    #[serde(default)]
    user: String,
    #[serde(default)]
    timestamp: u64,
    #[serde(default)]
    deleted: bool,
}

/// The bytes of a version; `None` marks where schemas were deleted.
pub(super) fn encode(schema: Option<&Schema>) -> Result<Bytes, String> {
    let header = Header {
        schema_type: schema.map_or(SchemaType::None, |schema| schema.schema_type).name().to_owned(),
        properties: schema.map(|schema| schema.properties.clone()).unwrap_or_default(),
        user: schema.map(|schema| schema.user.clone()).unwrap_or_default(),
        timestamp: schema.map_or(0, |schema| schema.timestamp_ms),
        deleted: schema.is_none(),
    };
    let mut bytes = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
    bytes.push(b'\n');
    bytes.extend_from_slice(schema.map_or(&[], |schema| &schema.data));
    Ok(bytes.into())
}

pub(super) fn decode(bytes: &Bytes) -> Result<Option<Schema>, String> {
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or("its first line has no end")?;
    let header: Header = serde_json::from_slice(&bytes[..end]).map_err(|error| error.to_string())?;
    if header.deleted {
        return Ok(None);
    }
    let schema_type = SchemaType::from_name(&header.schema_type)
        .ok_or_else(|| format!("its type {} is unknown", header.schema_type))?;
    Ok(Some(Schema {
        schema_type,
        data: bytes.slice(end + 1..),
        properties: header.properties,
        user: header.user,
        timestamp_ms: header.timestamp,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_survives_whatever_is_in_it() {
        let schema = Schema {
            schema_type: SchemaType::ProtobufNative,
            data: Bytes::from_static(b"\n\x00\xff{"),
            properties: [("line\nbreak".to_owned(), "\"".to_owned())].into(),
            user: "me".to_owned(),
            timestamp_ms: 7,
        };
        assert_eq!(decode(&encode(Some(&schema)).unwrap()), Ok(Some(schema)));
        assert_eq!(decode(&encode(None).unwrap()), Ok(None));
    }

    #[test]
    fn garbage_is_refused() {
        for bytes in ["", "{}", "{}\n", "{\"type\":\"WHAT\"}\n"] {
            assert!(decode(&Bytes::from_static(bytes.as_bytes())).is_err(), "{bytes:?}");
        }
    }
}
