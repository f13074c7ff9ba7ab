//! Which path leads where.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::any;
use plerion_broker::Handle;
use plerion_resources::names::Domain;
use tower::{Service, ServiceExt};

use crate::refusal::Refusal;
use crate::server::Options;
use crate::{
    broker_stats, brokers, clusters, lookup, metrics, namespaces, resource_quotas, schemas, status, tenants, topics,
};

/// What requests are served from.
pub(crate) struct App {
    pub(crate) broker: Handle,
    pub(crate) options: Options,
}

/// Everything that is served.
pub(crate) fn service(
    app: Arc<App>,
) -> impl Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static {
    // Outside the router, because routes are found by the path as it comes.
    router(app).map_request(|mut request: Request| {
        if let Some(uri) = without_empty_segments(request.uri()) {
            *request.uri_mut() = uri;
        }
        request
    })
}

fn router(app: Arc<App>) -> Router {
    let admin = Router::new()
        .nest("/clusters", clusters::routes())
        .nest("/tenants", tenants::routes())
        .nest("/namespaces", namespaces::routes())
        .nest("/brokers", brokers::routes())
        .nest("/broker-stats", broker_stats::routes())
        .nest("/resource-quotas", resource_quotas::routes())
        .nest("/schemas", schemas::routes());
    let topics = [Domain::Persistent, Domain::NonPersistent].into_iter().fold(Router::new(), |router, domain| {
        router.nest(&format!("/{domain}"), topics::routes().layer(axum::Extension(domain)))
    });
    let mut router = Router::new().nest("/admin/v2", admin.merge(topics));
    for (path, what) in [
        ("/admin/v2/bookies", "Administration of bookies"),
        ("/admin/v2/functions", "Pulsar Functions"),
        ("/admin/v2/worker", "Pulsar Functions"),
        ("/admin/v2/worker-stats", "Pulsar Functions"),
        ("/admin/v3/functions", "Pulsar Functions"),
        ("/admin/v3/sources", "Pulsar IO"),
        ("/admin/v3/sinks", "Pulsar IO"),
        ("/admin/v3/source", "Pulsar IO"),
        ("/admin/v3/sink", "Pulsar IO"),
        ("/admin/v3/packages", "Package management"),
        ("/admin/v3/transactions", "The administration of transactions"),
    ] {
        let absent = any(move || async move { Refusal::unsupported(what) });
        router = router.route(path, absent.clone()).route(&format!("{path}/{{*rest}}"), absent);
    }
    router
        .nest("/lookup/v2", lookup::routes())
        .merge(metrics::routes())
        .merge(status::routes())
        .fallback(|| async { Refusal::not_found("There is no such resource") })
        .method_not_allowed_fallback(|| async { Refusal::not_allowed("The resource has no such method") })
        .layer(middleware::from_fn(close_after_unframed_body))
        .with_state(app)
}

/// Some clients send a body after a DELETE without saying so. It must not be taken for the beginning of their next
/// request, so the connection ends with the answer.
async fn close_after_unframed_body(request: Request, next: Next) -> Response {
    let framed = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    let is_suspect = request.method() == Method::DELETE && !framed.iter().any(|it| request.headers().contains_key(it));
    let mut response = next.run(request).await;
    if is_suspect {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The address without the empty segments that base addresses ending in a slash bring; `None` if it has none.
fn without_empty_segments(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !path.contains("//") {
        return None;
    }
    let mut collapsed = String::with_capacity(path.len());
    for byte in path.chars() {
        if byte != '/' || !collapsed.ends_with('/') {
            collapsed.push(byte);
        }
    }
    if let Some(query) = uri.query() {
        collapsed.push('?');
        collapsed.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(collapsed).ok()?);
    Uri::from_parts(parts).ok()
}

/// What a write that succeeded answers.
pub(crate) type Done = Result<StatusCode, Refusal>;

/// 204: it was done.
pub(crate) const DONE: Done = Ok(StatusCode::NO_CONTENT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_segments_are_dropped_and_nothing_else() {
        let collapse = |text: &str| without_empty_segments(&text.parse().unwrap()).map(|uri| uri.to_string());
        assert_eq!(collapse("//admin///v2//x%2F%2Fy?a=//b").as_deref(), Some("/admin/v2/x%2F%2Fy?a=//b"));
        assert_eq!(collapse("/admin/v2/x?a=//b"), None);
    }
}
