//! Message ids as JSON.

use plerion_resources::names::TopicName;
use plerion_subscription::Position;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::body::lenient_integer;
use crate::refusal::Refusal;

/// A message's id, under the names of Pulsar's JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageId {
    #[serde(deserialize_with = "lenient_integer")]
    pub(super) ledger_id: i64,
    #[serde(deserialize_with = "lenient_integer")]
    pub(super) entry_id: i64,
    #[serde(default = "none")]
    partition_index: i64,
    #[serde(default = "none")]
    batch_index: i64,
    #[serde(default)]
    batch_size: i64,
}

fn none() -> i64 {
    -1
}

impl MessageId {
    /// The id of the entry at `position` of a topic.
    pub(super) fn of(topic: &TopicName, position: Position) -> Self {
        let partition_index = topic.partition_index().map_or(-1, i64::from);
        let Position { ledger, entry } = position;
        Self { ledger_id: ledger, entry_id: entry, partition_index, batch_index: -1, batch_size: 0 }
    }

    /// The entry's position.
    pub(super) fn position(&self) -> Position {
        Position { ledger: self.ledger_id, entry: self.entry_id }
    }
}

/// Reads a position: a message id, or one of the words `earliest` and `latest`; `None` for nothing.
pub(super) fn read(body: Value) -> Result<Option<(Position, i64)>, Refusal> {
    match body {
        Value::Null => Ok(None),
        Value::String(word) if word.eq_ignore_ascii_case("earliest") => Ok(Some((Position::EARLIEST, -1))),
        Value::String(word) if word.eq_ignore_ascii_case("latest") => Ok(Some((Position::LATEST, -1))),
        other => {
            let id: MessageId = serde_json::from_value(other)
                .map_err(|error| Refusal::malformed(format!("The body must be a message id: {error}")))?;
            Ok(Some((id.position(), id.batch_index)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_position_is_read() {
        let id = |ledger, entry| Some((Position { ledger, entry }, -1));
        assert_eq!(read(json!(null)).unwrap(), None);
        assert_eq!(read(json!("earliest")).unwrap(), id(-1, -1));
        assert_eq!(read(json!({"ledgerId": 3, "entryId": "4", "partitionIndex": -1})).unwrap(), id(3, 4));
        let end = json!({"ledgerId": i64::MAX, "entryId": u64::MAX});
        assert_eq!(read(end).unwrap(), id(i64::MAX, i64::MAX));
        assert!(read(json!({"ledgerId": 3})).is_err());
        assert!(read(json!("soon")).is_err());
    }
}
