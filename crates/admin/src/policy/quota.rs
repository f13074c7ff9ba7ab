//! Backlog quotas, in the forms that clients of different ages write.

use serde_json::{Map, Value, json};

use crate::body::integer;
use crate::query::Parameters;
use crate::refusal::Refusal;

const TYPES: [&str; 2] = ["destination_storage", "message_age"];
const POLICIES: [&str; 3] = ["producer_request_hold", "producer_exception", "consumer_backlog_eviction"];

/// The type a request is about.
pub(crate) fn kind(query: &Parameters) -> Result<&'static str, Refusal> {
    let named = query.get("backlogQuotaType").filter(|name| !name.is_empty()).unwrap_or(TYPES[0]);
    TYPES
        .into_iter()
        .find(|known| *known == named)
        .ok_or_else(|| Refusal::not_found(format!("backlogQuotaType must be one of {}, not {named}", TYPES.join(", "))))
}

/// A quota in the form that is stored: the limit may be called `limit` or `limitSize`, and be quoted.
pub(crate) fn normalized(quota: &Value) -> Result<Value, Refusal> {
    let quota = quota.as_object().ok_or_else(|| Refusal::malformed("A backlog quota must be a JSON object"))?;
    let limit = |name: &str| match quota.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => integer(value)
            .map(Some)
            .ok_or_else(|| Refusal::malformed(format!("{name} must be an integer, not {value}"))),
    };
    let size = limit("limitSize")?.or(limit("limit")?).unwrap_or(-1);
    let time = limit("limitTime")?.unwrap_or(-1);
    let mut stored = Map::from_iter([("limitSize".to_owned(), json!(size)), ("limitTime".to_owned(), json!(time))]);
    match quota.get("policy") {
        None | Some(Value::Null) => {}
        Some(Value::String(policy)) if POLICIES.contains(&policy.as_str()) => {
            stored.insert("policy".to_owned(), json!(policy));
        }
        Some(other) => {
            return Err(Refusal::malformed(format!("policy must be one of {}, not {other}", POLICIES.join(", "))));
        }
    }
    Ok(Value::Object(stored))
}

/// Quotas by type as clients read them: with the limit under both names.
pub(crate) fn shown(quotas: Option<&Value>) -> Value {
    let mut quotas = quotas.filter(|quotas| quotas.is_object()).cloned().unwrap_or_else(|| json!({}));
    for quota in quotas.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(quota) = quota.as_object_mut()
            && let Some(limit) = quota.get("limitSize").cloned()
        {
            quota.insert("limit".to_owned(), limit);
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_and_quoted_numbers_are_read() {
        let stored = json!({"limitSize": 10240, "limitTime": -1, "policy": "producer_exception"});
        for given in [
            json!({"limit": "10240", "policy": "producer_exception"}),
            json!({"limitSize": 10240, "policy": "producer_exception"}),
            json!({"limit": 1, "limitSize": 10240, "limitTime": null, "policy": "producer_exception"}),
        ] {
            assert_eq!(normalized(&given).unwrap(), stored, "{given}");
        }
        for bad in [json!(1), json!({"limit": "x"}), json!({"policy": "drop"})] {
            assert!(normalized(&bad).is_err(), "{bad}");
        }
        assert_eq!(shown(Some(&json!({"message_age": stored})))["message_age"]["limit"], json!(10240));
    }
}
