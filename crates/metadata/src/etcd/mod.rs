//! The engine of a cluster that has etcd: a row is a key, an ephemeral one has its session's lease.
//!
//! Keys are those of [`crate::key`], below that of the path that stands for the root, so that pages need no more than
//! their own rows. Versions, revisions and what a write expects are etcd's own. A watch goes on where it was after a
//! broken connection; if etcd has compacted what it missed, it says so.
//!
//! The messages are written by hand, because the client crates need protoc at build time.

mod lease;
mod message;
mod rows;
mod servers;
mod store;
mod txn;
mod watch;

pub use servers::EtcdOptions;
pub use store::EtcdStore;
