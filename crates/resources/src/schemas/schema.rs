//! A schema, and when two are the same.

use std::collections::BTreeMap;

use bytes::Bytes;

/// What a schema describes. The numbers are those of the client protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say all there is")]
pub enum SchemaType {
    None = 0,
    String = 1,
    Json = 2,
    Protobuf = 3,
    Avro = 4,
    Boolean = 5,
    Int8 = 6,
    Int16 = 7,
    Int32 = 8,
    Int64 = 9,
    Float = 10,
    Double = 11,
    Date = 12,
    Time = 13,
    Timestamp = 14,
    KeyValue = 15,
    Instant = 16,
    LocalDate = 17,
    LocalTime = 18,
    LocalDateTime = 19,
    ProtobufNative = 20,
    AutoConsume = 21,
}

impl SchemaType {
    /// Every type with its name in the admin interface.
    const ALL: [(Self, &'static str); 22] = [
        (Self::None, "NONE"),
        (Self::String, "STRING"),
        (Self::Json, "JSON"),
        (Self::Protobuf, "PROTOBUF"),
        (Self::Avro, "AVRO"),
        (Self::Boolean, "BOOLEAN"),
        (Self::Int8, "INT8"),
        (Self::Int16, "INT16"),
        (Self::Int32, "INT32"),
        (Self::Int64, "INT64"),
        (Self::Float, "FLOAT"),
        (Self::Double, "DOUBLE"),
        (Self::Date, "DATE"),
        (Self::Time, "TIME"),
        (Self::Timestamp, "TIMESTAMP"),
        (Self::KeyValue, "KEY_VALUE"),
        (Self::Instant, "INSTANT"),
        (Self::LocalDate, "LOCAL_DATE"),
        (Self::LocalTime, "LOCAL_TIME"),
        (Self::LocalDateTime, "LOCAL_DATE_TIME"),
        (Self::ProtobufNative, "PROTOBUF_NATIVE"),
        (Self::AutoConsume, "AUTO_CONSUME"),
    ];

    /// The type with this number in the client protocol.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.iter().find(|(kind, _)| kind.number() == number).map(|(kind, _)| *kind)
    }

    /// The type with this name in the admin interface.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(kind, _)| *kind)
    }

    /// The number in the client protocol.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The name in the admin interface.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("NONE", |(_, name)| name)
    }

    /// Whether the definition is JSON text, in which spaces and the order of keys mean nothing.
    const fn is_json_text(self) -> bool {
        matches!(self, Self::Json | Self::Avro | Self::Protobuf)
    }
}

/// A schema as a client or administrator gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// What it describes.
    pub schema_type: SchemaType,
    /// The definition; its form depends on the type.
    pub data: Bytes,
    /// Free text by key.
    pub properties: BTreeMap<String, String>,
    /// Who gave it; may be empty.
    pub user: String,
    /// When it was given, in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
}

impl Schema {
    /// Whether both are the same definition: of the same type, and of the same data, or of the same JSON where the
    /// definition is JSON text. Properties do not count.
    pub fn is_same(&self, other: &Self) -> bool {
        self.schema_type == other.schema_type
            && (self.data == other.data || self.schema_type.is_json_text() && is_same_json(&self.data, &other.data))
    }
}

fn is_same_json(one: &[u8], other: &[u8]) -> bool {
    let parse = |data| serde_json::from_slice::<serde_json::Value>(data).ok();
    parse(one).zip(parse(other)).is_some_and(|(one, other)| one == other)
}

/// A version of a topic's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSchema {
    /// Its number: 0 for the first. On the wire it is an i64 in big-endian order.
    pub version: u64,
    /// The schema, or `None` where the topic's schemas were deleted: none before it counts any more.
    pub schema: Option<Schema>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(schema_type: SchemaType, data: &'static str) -> Schema {
        let data = Bytes::from_static(data.as_bytes());
        Schema { schema_type, data, properties: BTreeMap::new(), user: String::new(), timestamp_ms: 0 }
    }

    #[test]
    fn json_definitions_are_compared_by_meaning() {
        let one = schema(SchemaType::Avro, r#"{"type":"record","name":"a"}"#);
        assert!(one.is_same(&schema(SchemaType::Avro, r#"{ "name": "a", "type": "record" }"#)));
        assert!(!one.is_same(&schema(SchemaType::Avro, r#"{"type":"record","name":"b"}"#)));
        assert!(!one.is_same(&schema(SchemaType::Json, r#"{"type":"record","name":"a"}"#)));
    }

    #[test]
    fn other_definitions_are_compared_by_bytes() {
        let one = schema(SchemaType::ProtobufNative, "{} ");
        assert!(one.is_same(&one.clone()) && !one.is_same(&schema(SchemaType::ProtobufNative, "{}")));
        assert!(!schema(SchemaType::Json, "not json").is_same(&schema(SchemaType::Json, "nor this")));
        assert!(schema(SchemaType::String, "").is_same(&schema(SchemaType::String, "")));
    }

    #[test]
    fn types_have_one_number_and_one_name() {
        for (number, (kind, name)) in (0..).zip(SchemaType::ALL) {
            assert_eq!((kind.number(), kind.name()), (number, name));
            assert_eq!(SchemaType::from_number(number), Some(kind));
            assert_eq!(SchemaType::from_name(&name.to_lowercase()), Some(kind));
        }
        assert_eq!(SchemaType::from_number(22), None);
        assert_eq!(SchemaType::from_name("?"), None);
    }
}
