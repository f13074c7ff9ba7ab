//! Serving HTTP.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::ServiceExt;
use axum::extract::Request;
use plerion_broker::Handle;

use crate::app::{self, App};
use crate::metrics::Source;
use crate::patience::Patient;

/// Whether the broker takes new clients. Clones share the answer.
#[derive(Clone, Debug)]
pub struct Ready(Arc<AtomicBool>);

impl Default for Ready {
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Ready {
    /// Sets the answer: `false` from the moment the broker begins to stop.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Release);
    }

    /// The answer.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What is served besides the broker itself.
#[derive(Clone)]
pub struct Options {
    /// What `/status.html` and `/admin/v2/brokers/ready` tell.
    pub ready: Ready,
    /// More figures for `/metrics`.
    pub sources: Vec<Arc<dyn Source>>,
    /// How long a connection may take from one answer to the next; it is closed then.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { ready: Ready::default(), sources: Vec::new(), patience: Duration::from_secs(60) }
    }
}

/// Serves HTTP on `listener` until `shutdown` resolves; then no more connections are taken, and it returns when the
/// requests under way are answered. Must be called within a tokio runtime.
///
/// # Errors
/// When the listener cannot be used.
pub async fn serve(
    broker: Handle,
    listener: TcpListener,
    options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let listener = Patient { listener, patience: options.patience };
    let service = app::service(Arc::new(App { broker, options }));
    axum::serve(listener, ServiceExt::<Request>::into_make_service(service)).with_graceful_shutdown(shutdown).await
}
