//! The engine of a cluster that has ZooKeeper: a row is a node of the same path, as Pulsar and BookKeeper keep theirs.
//!
//! What ZooKeeper has of its own: versions of nodes, the transaction number as revision, ephemeral and numbered nodes.
//! What it lacks is made up for here:
//! - A node needs a node above it, a row does not. Nodes that are there for the sake of those below hold a mark that no
//!   row holds, are not shown as rows, and go when they are empty, except those that number what is below them.
//! - A read may be answered by a server that lags behind, so that each is preceded by a sync.
//! - A watch says nothing of what happened while the connection was away: watches say then that they may have missed
//!   something.
//!
//! Differences that remain: no row can lie below an ephemeral one, a row made where rows below it were made first begins
//! at a version above 0, a watch may tell of a node that is no row, and numbers begin anew when the row above the
//! numbered ones was deleted.

mod connect;
mod link;
mod node;
mod read;
mod store;
mod watch;
mod write;

pub use connect::ZookeeperOptions;
pub use store::ZookeeperStore;
