//! Versioned, watchable metadata: the small facts a cluster agrees on.
//!
//! A [`MetadataStore`] is a tree of paths with values. Every write is a compare-and-set, every row carries a
//! version of its own and the store-wide revision at which it was made, a watch tells of every change below a
//! prefix, and an ephemeral row lives as long as the session that made it.
//!
//! What the crate promises is the contract of the trait; the conformance suite in `tests/` holds each engine to
//! it. What it doesn't know is what is stored.
//!
//! Engines: [`MemoryStore`] for tests and simulation, [`EmbeddedStore`] for one process with a data directory,
//! `ZookeeperStore` and `EtcdStore` for the processes of a cluster. [`open()`] takes the one that a [`StoreUrl`] names.

mod election;
mod embedded;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod fed;
mod feed;
mod key;
mod memory;
mod notification;
mod open;
pub mod path;
mod record;
mod row;
mod sessions;
mod settle;
mod store;
mod url;
mod watchers;
#[cfg(feature = "zookeeper")]
mod zookeeper;

pub use election::{Election, Leader, Leadership, current_leader, observe_leader};
pub use embedded::{EmbeddedOptions, EmbeddedStore, FORMAT_VERSION, OpenError};
pub use error::{Error, Result};
#[cfg(feature = "etcd")]
pub use etcd::{EtcdOptions, EtcdStore};
pub use memory::MemoryStore;
pub use notification::{Notification, NotificationKind, SessionEvent, SessionEvents, Watch};
pub use open::{OpenStoreError, StoreOptions, open};
pub use record::{Durability, Expect, PutOptions, Record, Stat, Written};
pub use settle::{delete_settled, put_settled};
pub use store::{MAX_VALUE_BYTES, MetadataStore, SharedMetadataStore, delete_tree};
pub use url::{StoreUrl, UrlError};
#[cfg(feature = "zookeeper")]
pub use zookeeper::{ZookeeperOptions, ZookeeperStore};
