//! The engine of a single process: one file, durable by group commit.
//!
//! A write is decided under a lock against everything accepted so far and, unless it is eventual, waits for the
//! writer thread, which makes all that has gathered durable in one transaction. Readers take the overlay of eventual
//! changes and the last committed snapshot; they never wait for the writer.

mod codec;
mod device;
mod disk;
mod merge;
mod open;
mod overlay;
mod shared;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use open::{FORMAT_VERSION, OpenError};
pub use store::{EmbeddedOptions, EmbeddedStore};
