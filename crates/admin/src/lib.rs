//! The HTTP side of a broker: Pulsar's admin REST interface (v2), lookup over HTTP, health and metrics.
//!
//! Paths, status codes and JSON are those of Pulsar 4.0, so that its tools and clients work unchanged. Each handler
//! gets its broker only from [`Permitted`](permitted::Permitted), which asks the authorizer first; a refusal is 401.
//! Errors are JSON, `{"reason": "…"}`.
//!
//! What the crate knows of the broker is its [`Handle`](plerion_broker::Handle). It touches no connection of the
//! binary protocol and no topic by itself.

mod app;
mod body;
mod broker_stats;
mod brokers;
mod clusters;
mod document;
mod lookup;
mod metrics;
mod namespaces;
mod permitted;
mod policy;
mod query;
mod refusal;
mod resource_quotas;
mod schemas;
mod server;
mod status;
mod tenants;
mod topics;

pub use brokers::{RestoreError, restore_configuration};
pub use metrics::{Exposition, Source};
pub use server::{Options, Ready, serve};
