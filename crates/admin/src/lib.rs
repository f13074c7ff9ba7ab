//! The HTTP side of a broker: Pulsar's admin REST interface (v2), lookup over HTTP, health and metrics.
//!
//! Paths, status codes and JSON are those of Pulsar 4.0, so that its tools and clients work unchanged. A handler
//! gets its broker only from an extractor that asks the authorizer first; a refusal is 401. Errors are JSON,
//! `{"reason": "…"}`.
//!
//! Of the policies of a namespace the broker follows `messageTTL`, `retention`, `deduplication` and
//! `autoTopicCreation`; all others, and those of topics, are stored and read back. What the broker does not do at all
//! (compaction, offloading, splitting bundles, functions) is 501, never a success that means nothing.
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
mod patience;
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
