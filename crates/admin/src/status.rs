//! `/status.html` and `/status.json`: whether the broker is up.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use crate::app::App;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/status.html", get(page)).route("/status.json", get(json))
}

fn status(app: &App) -> StatusCode {
    if app.options.ready.get() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// What load balancers ask.
async fn page(State(app): State<Arc<App>>) -> Response {
    let text = if app.options.ready.get() { "OK" } else { "The broker is stopping" };
    (status(&app), text).into_response()
}

async fn json(State(app): State<Arc<App>>) -> Response {
    let ready = app.options.ready.get();
    let body = json!({ "ready": ready, "broker": app.broker.broker_id(), "version": env!("CARGO_PKG_VERSION") });
    (status(&app), Json(body)).into_response()
}
