//! What goes over a connection to a bookie: frames, and the two protocols inside them.
//!
//! Adds and reads of a ledger's writer and readers use the binary protocol ([`v2`]), whose answers are matched by
//! what was asked. Whatever must not be mistaken for something else, fences and recovery above all, uses the
//! protobuf protocol ([`v3`]), whose answers carry a number, on a connection of its own.

pub mod frame;
pub mod status;
pub mod v2;
pub mod v3;

pub use frame::{FrameError, Frames};
pub use status::Status;

/// The longest frame, length field included, that a bookie takes by default, in bytes.
pub const MAX_FRAME: usize = 5_242_880;
