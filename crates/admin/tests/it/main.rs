//! The admin interface before a real broker over stores in memory, through real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod authorization;
mod brokers;
mod client;
mod clusters;
mod followed_policies;
mod hostile;
mod http;
mod known_bugs;
mod lookup;
mod messages;
mod metrics;
mod namespace_policies;
mod namespaces;
mod partitions;
mod schemas;
mod subscriptions;
mod tenants;
mod topic_policies;
mod topics;
mod world;
