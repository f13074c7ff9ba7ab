//! A broker: connections, lookups, and the registry of topics, spread over shards.
//!
//! A [`Broker`] serves the binary protocol; a [`Handle`] is how administrators reach its topics. Each shard is one
//! thread that owns some of the connections and some of the bundles with their topics; what crosses shards does so as
//! messages in batches.

mod addresses;
mod authorizer;
mod bootstrap;
mod broker;
mod budget;
mod connection;
mod core;
mod failure;
mod handle;
mod listing;
mod lookup;
mod mesh;
mod metrics;
mod namespaces;
mod policies;
mod registry;
mod schemas;
mod serving;
mod shard;
pub mod stats;
mod sweep;
mod switchboard;
mod upkeep;
mod watchers;

pub use addresses::Advertised;
pub use authorizer::{AllowAll, Authorizer, Operation, Role};
pub use broker::{Broker, Parts, StartError, StoreFactory};
pub use failure::{Conflict, Failure};
pub use handle::{BrokerTotals, CursorStats, Handle, InternalStats, LedgerStats, Peeked};
pub use listing::Kind as TopicKind;
pub use metrics::ShardCounters;
pub use namespaces::BundleName;
pub use plerion_topic::AckSaves;
