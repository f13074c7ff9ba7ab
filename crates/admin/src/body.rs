//! Bodies of requests, read as leniently as clients write them.

use std::fmt;

use axum::body::HttpBody;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde_json::Value;

use crate::refusal::Refusal;

/// The longest body that is read: policies and schemas are far shorter. It is what axum stops at by itself.
const LONGEST: u64 = 2 << 20;

/// A body read as JSON, whatever `Content-Type` says. An empty one is `null`.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let bytes = bytes(request, state).await?;
        let text = if bytes.trim_ascii().is_empty() { b"null" } else { &bytes[..] };
        let read = serde_json::from_slice(text);
        read.map(Self).map_err(|error| Refusal::malformed(format!("The body is not the JSON that is needed: {error}")))
    }
}

/// A body that is one text: a JSON string, or the text itself.
pub(crate) struct Text(pub(crate) String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let bytes = bytes(request, state).await?;
        let text = std::str::from_utf8(&bytes).map_err(|_| Refusal::malformed("The body is not UTF-8"))?.trim();
        Ok(Self(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())))
    }
}

async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<bytes::Bytes, Refusal> {
    // One that says that it is too long is not read at all.
    if request.body().size_hint().lower() > LONGEST {
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("A body may have {LONGEST} bytes")));
    }
    let bytes = bytes::Bytes::from_request(request, state).await;
    bytes.map_err(|rejection| Refusal::new(rejection.status(), rejection.body_text()))
}

/// The integer that `value` is, or that its text is: clients write `3` and `"3"`.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Reads what [`integer`] reads.
pub(crate) fn lenient_integer<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    struct Lenient;

    impl Visitor<'_> for Lenient {
        type Value = i64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an integer, or a string that is one")
        }

        fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<i64, E> {
            Ok(value)
        }

        fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<i64, E> {
            // Clients write ids beyond the signed range for the end of a topic.
            Ok(i64::try_from(value).unwrap_or(i64::MAX))
        }

        fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<i64, E> {
            value.trim().parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(value), &self))
        }
    }

    from.deserialize_any(Lenient)
}
