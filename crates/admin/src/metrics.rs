//! `/metrics`: figures for Prometheus, under Pulsar's names where Pulsar has them.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::stream;

use crate::app::App;
use crate::refusal::Refusal;

mod broker;
mod exposition;
mod topics;

pub use exposition::Exposition;

/// Figures of a part of the process that the broker does not speak for, such as its storage.
pub trait Source: Send + Sync {
    /// Writes the figures as they are now.
    fn write(&self, to: &mut Exposition);
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/metrics", get(metrics)).route("/metrics/", get(metrics))
}

/// Everything there is to measure. What there is of each topic is written as the client reads it. Nobody needs a
/// permission to ask.
async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let mut text = Exposition::default();
    broker::write(&app.broker, &mut text).await?;
    app.options.sources.iter().for_each(|source| source.write(&mut text));
    let cluster = app.broker.settings().current().cluster.name.clone();
    let topics = topics::series(&cluster, app.broker.all_topic_stats().await?);
    let chunks = std::iter::once(text.into_text()).chain(topics);
    let body = Body::from_stream(stream::iter(chunks.map(|text| Ok::<_, std::convert::Infallible>(Bytes::from(text)))));
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], body).into_response())
}
