//! The rules of subscriptions, without I/O.

mod position;

pub use position::Position;
