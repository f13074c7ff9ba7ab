//! The keys, section by section.

mod cluster;
mod deduplication;
mod network;
mod retention;
mod storage;
mod subscriptions;
mod topics;

pub use cluster::Cluster;
pub use deduplication::Deduplication;
pub use network::{Bind, Network};
pub use retention::Retention;
pub use storage::Storage;
pub use subscriptions::Subscriptions;
pub use topics::Topics;

use crate::Key;

/// The keys of every section, in the order in which they are listed.
pub(crate) const ALL: [&[Key]; 7] = [
    Network::KEYS,
    Cluster::KEYS,
    Topics::KEYS,
    Subscriptions::KEYS,
    Deduplication::KEYS,
    Retention::KEYS,
    Storage::KEYS,
];
