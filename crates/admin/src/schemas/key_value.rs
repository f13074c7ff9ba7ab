//! The two schemas of a key-value schema: stored one after the other with their lengths, shown as JSON.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};

/// The stored form of `{"key": …, "value": …}`, in which each is a text or the JSON of a schema itself.
pub(super) fn from_text(text: &str) -> Result<Bytes, String> {
    let both: Value =
        serde_json::from_str(text).map_err(|error| format!("A key-value schema must be JSON: {error}"))?;
    let mut data = BytesMut::new();
    for part in ["key", "value"] {
        let schema = match both.get(part) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(schema) => schema.to_string(),
        };
        let length = u32::try_from(schema.len()).map_err(|_| format!("The schema of the {part} is too long"))?;
        data.put_u32(length);
        data.put_slice(schema.as_bytes());
    }
    Ok(data.freeze())
}

/// The JSON of a stored key-value schema; `None` if it is damaged. A part that is JSON is shown as such.
pub(super) fn to_text(data: &[u8]) -> Option<String> {
    let (key, rest) = part(data)?;
    let (value, rest) = part(rest)?;
    rest.is_empty().then(|| json!({ "key": key, "value": value }).to_string())
}

fn part(data: &[u8]) -> Option<(Value, &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (schema, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    let text = std::str::from_utf8(schema).ok()?;
    let parsed = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    Some((parsed.unwrap_or_else(|| json!(text)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schemas_come_back() {
        let text = r#"{"key":{"type":"record","name":"k","fields":[]},"value":""}"#;
        let data = from_text(text).unwrap();
        assert_eq!(data[..4], 40u32.to_be_bytes());
        assert_eq!(to_text(&data).as_deref(), Some(text));
        // Some clients quote the schemas.
        let quoted = r#"{"key":"{\"type\":\"record\",\"name\":\"k\",\"fields\":[]}","value":""}"#;
        assert_eq!(from_text(quoted).unwrap(), data);
    }

    #[test]
    fn damaged_data_is_not_shown_as_json() {
        for data in [&[][..], &[0, 0, 0, 9, 1], &[0, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 0, 0, 1]] {
            assert_eq!(to_text(data), None);
        }
        assert!(from_text("no json").is_err());
    }
}
