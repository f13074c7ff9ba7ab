//! Parameters after the question mark.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;

use crate::refusal::Refusal;

/// The parameters of a request, by name; of several with one name the last counts.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// The value called `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether `name` is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let read = Query::try_from_uri(&parts.uri);
        read.map(|Query(pairs)| Self(pairs)).map_err(|error| Refusal::malformed(error.body_text()))
    }
}
