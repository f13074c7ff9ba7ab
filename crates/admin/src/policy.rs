//! What the values of policies must look like. Namespaces and topics share the rules.

use plerion_resources::policies::{
    AutoSubscriptionCreation, AutoTopicCreation, DispatchRate, InactiveTopicPolicies, Persistence, PublishRate,
    Retention, SubscribeRate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::body::integer;
use crate::refusal::Refusal;

pub(crate) mod quota;

/// Which values a policy takes.
pub(crate) enum Shape {
    /// A boolean.
    Flag,
    /// An integer from 0.
    Count,
    /// An integer.
    Integer,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list of some of these texts.
    SomeOf(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A text.
    Text,
    /// What this reads and writes back.
    Object(fn(Value) -> Result<Value, Refusal>),
}

/// The values of `schemaCompatibilityStrategy`.
pub(crate) const STRATEGIES: &[&str] = &[
    "UNDEFINED",
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
];

/// The values of `subscriptionTypesEnabled`.
pub(crate) const SUBSCRIPTION_TYPES: &[&str] = &["Exclusive", "Shared", "Failover", "Key_Shared"];

impl Shape {
    /// The value to store for the policy `name`; `null` stands for none at all.
    pub(crate) fn check(&self, name: &str, value: Value) -> Result<Value, Refusal> {
        if value.is_null() {
            return Ok(value);
        }
        let needs = |what: &str| Refusal::malformed(format!("{name} must be {what}, not {value}"));
        match self {
            Self::Flag => match &value {
                Value::Bool(_) => Ok(value),
                Value::String(text) if text == "true" || text == "false" => Ok(json!(text == "true")),
                _ => Err(needs("true or false")),
            },
            Self::Count | Self::Integer => match integer(&value) {
                None => Err(needs("an integer")),
                Some(number) if number < 0 && matches!(self, Self::Count) => {
                    Err(Refusal::invalid(format!("{name} must be 0 or more")))
                }
                Some(number) => Ok(json!(number)),
            },
            Self::Text => {
                if value.is_string() {
                    Ok(value)
                } else {
                    Err(needs("a text"))
                }
            }
            Self::OneOf(texts) => match value.as_str() {
                Some(text) if texts.contains(&text) => Ok(value),
                _ => Err(needs(&format!("one of {}", texts.join(", ")))),
            },
            Self::Texts => match texts(&value) {
                Some(_) => Ok(value),
                None => Err(needs("a list of texts")),
            },
            Self::SomeOf(known) => match texts(&value) {
                Some(given) if given.iter().all(|text| known.contains(text)) => Ok(value),
                _ => Err(needs(&format!("a list of some of {}", known.join(", ")))),
            },
            Self::Object(read) => read(value),
        }
    }
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// Reads a value as `T`, and makes it what `T` writes.
fn typed<T: DeserializeOwned + Serialize>(value: Value) -> Result<(T, Value), Refusal> {
    let read: T = serde_json::from_value(value).map_err(|error| Refusal::malformed(error.to_string()))?;
    let written = serde_json::to_value(&read).map_err(|error| Refusal::malformed(error.to_string()))?;
    Ok((read, written))
}

fn plain<T: DeserializeOwned + Serialize>(value: Value) -> Result<Value, Refusal> {
    typed::<T>(value).map(|(_, written)| written)
}

/// Any JSON object, kept as it is.
pub(crate) const ANY_OBJECT: Shape = Shape::Object(|value| {
    if value.is_object() { Ok(value) } else { Err(Refusal::malformed("The value must be a JSON object")) }
});
pub(crate) const DISPATCH_RATE: Shape = Shape::Object(plain::<DispatchRate>);
pub(crate) const SUBSCRIBE_RATE: Shape = Shape::Object(plain::<SubscribeRate>);
pub(crate) const PUBLISH_RATE: Shape = Shape::Object(plain::<PublishRate>);
pub(crate) const AUTO_SUBSCRIPTION: Shape = Shape::Object(plain::<AutoSubscriptionCreation>);

pub(crate) const RETENTION: Shape = Shape::Object(|value| {
    let (read, written) = typed::<Retention>(value)?;
    let (time, size) = (i64::from(read.time_minutes), read.size_mb);
    if time < -1 || size < -1 {
        return Err(Refusal::malformed("Invalid retention policy: limits must be -1 (none), 0, or positive"));
    }
    if (time == 0) != (size == 0) {
        return Err(Refusal::malformed(
            "Invalid retention policy: Setting a single time or size limit to 0 is invalid when one of the limits has \
             a non-zero value. Use the value of -1 instead of 0 to ignore a specific limit. To disable retention both \
             limits must be set to 0.",
        ));
    }
    Ok(written)
});

pub(crate) const PERSISTENCE: Shape = Shape::Object(|value| {
    let (read, written) = typed::<Persistence>(value)?;
    let (ensemble, write, ack) = (read.bookkeeper_ensemble, read.bookkeeper_write_quorum, read.bookkeeper_ack_quorum);
    if !(ensemble >= write && write >= ack && ack > 0) {
        return Err(Refusal::malformed(format!(
            "Bookkeeper Ensemble ({ensemble}) >= WriteQuorum ({write}) >= AckQuorum ({ack}) > 0 must hold"
        )));
    }
    if read.managed_ledger_max_mark_delete_rate < 0.0 {
        return Err(Refusal::malformed("managedLedgerMaxMarkDeleteRate must be 0 or more"));
    }
    Ok(written)
});

pub(crate) const AUTO_TOPIC: Shape = Shape::Object(|value| {
    const REFUSED: &str = "Invalid configuration for autoTopicCreationOverride. the detail is";
    let (read, written) = typed::<AutoTopicCreation>(value)?;
    match (read.topic_type.as_deref(), read.default_num_partitions) {
        _ if !read.allow_auto_topic_creation => Ok(written),
        (Some("partitioned"), Some(1..)) | (Some("non-partitioned"), None) | (None, _) => Ok(written),
        (Some("partitioned"), _) => {
            Err(Refusal::invalid(format!("{REFUSED} [defaultNumPartitions] cannot be less than 1 for partition type.")))
        }
        (Some("non-partitioned"), Some(_)) => Err(Refusal::invalid(format!(
            "{REFUSED} [defaultNumPartitions] is not allowed to be set when the type is non-partition."
        ))),
        (Some(other), _) => {
            Err(Refusal::invalid(format!("{REFUSED} [topicType] must be partitioned or non-partitioned, not {other}")))
        }
    }
});

pub(crate) const INACTIVE: Shape = Shape::Object(|value| {
    const MODES: [&str; 2] = ["delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"];
    let (read, written) = typed::<InactiveTopicPolicies>(value)?;
    if !MODES.contains(&read.inactive_topic_delete_mode.as_str()) {
        return Err(Refusal::malformed(format!("inactiveTopicDeleteMode must be one of {}", MODES.join(", "))));
    }
    if read.max_inactive_duration_seconds < 0 {
        return Err(Refusal::invalid("maxInactiveDurationSeconds must be 0 or more"));
    }
    Ok(written)
});

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn status(shape: &Shape, value: Value) -> Option<StatusCode> {
        shape.check("it", value).err().map(|refusal| refusal.status)
    }

    #[test]
    fn numbers_may_be_quoted_and_must_be_in_range() {
        assert_eq!(Shape::Count.check("it", json!("3")).unwrap(), json!(3));
        assert_eq!(status(&Shape::Count, json!(-1)), Some(StatusCode::PRECONDITION_FAILED));
        assert_eq!(status(&Shape::Integer, json!(-1)), None);
        assert_eq!(status(&Shape::Integer, json!([])), Some(StatusCode::BAD_REQUEST));
        assert_eq!(status(&Shape::Flag, json!(1)), Some(StatusCode::BAD_REQUEST));
    }

    #[test]
    fn retention_has_both_limits_or_none() {
        let retention = |time: i64, size: i64| json!({"retentionTimeInMinutes": time, "retentionSizeInMB": size});
        for (time, size) in [(0, 0), (-1, -1), (10, 100), (-1, 5)] {
            assert_eq!(status(&RETENTION, retention(time, size)), None, "{time} {size}");
        }
        for (time, size) in [(0, 1), (10, 0), (-2, 1)] {
            assert_eq!(status(&RETENTION, retention(time, size)), Some(StatusCode::BAD_REQUEST), "{time} {size}");
        }
    }

    #[test]
    fn partitions_of_made_topics_are_at_least_one() {
        fn auto(kind: &str, partitions: Option<u32>) -> Value {
            json!({"allowAutoTopicCreation": true, "topicType": kind, "defaultNumPartitions": partitions})
        }
        assert_eq!(status(&AUTO_TOPIC, auto("partitioned", Some(2))), None);
        assert_eq!(status(&AUTO_TOPIC, auto("non-partitioned", None)), None);
        for (kind, partitions) in
            [("partitioned", Some(0)), ("partitioned", None), ("non-partitioned", Some(1)), ("x", None)]
        {
            assert_eq!(status(&AUTO_TOPIC, auto(kind, partitions)), Some(StatusCode::PRECONDITION_FAILED));
        }
    }

    #[test]
    fn quorums_do_not_grow() {
        fn persistence(ensemble: i32, write: i32, ack: i32) -> Value {
            json!({"bookkeeperEnsemble": ensemble, "bookkeeperWriteQuorum": write, "bookkeeperAckQuorum": ack})
        }
        assert_eq!(status(&PERSISTENCE, persistence(3, 2, 2)), None);
        assert_eq!(status(&PERSISTENCE, persistence(1, 2, 1)), Some(StatusCode::BAD_REQUEST));
        assert_eq!(status(&PERSISTENCE, persistence(1, 1, 0)), Some(StatusCode::BAD_REQUEST));
    }
}
