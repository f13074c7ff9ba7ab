//! The rules of subscriptions and producers of one topic, without I/O.
//!
//! Everything here is a decision: no clock, socket, task or log. The caller tells what happened and when, and does
//! what the answer says. A [`Cursor`] is what a subscription has acknowledged, a [`Dispatcher`] who gets which entry,
//! [`dedup`] which published messages are new, [`producers`] who may publish.

pub mod cursor;
pub mod dedup;
pub mod delayed;
pub mod dispatcher;
pub mod failover;
mod layout;
mod murmur3;
mod position;
pub mod producers;
pub mod selector;
pub mod sticky;
#[cfg(test)]
mod test_log;

pub use cursor::Cursor;
pub use dispatcher::Dispatcher;
pub use layout::Layout;
pub use murmur3::murmur3_32;
pub use position::Position;
