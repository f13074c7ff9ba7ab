//! A client of Apache BookKeeper that does not lose what it acknowledged.
//!
//! Entries are written to several bookies; the metadata store says which, and is where a ledger is opened, taken over
//! and closed. What decides is free of I/O and runs the same in a simulation as in production.

pub mod bookie;
pub mod digest;
pub mod directory;
pub mod entry;
pub mod ledger_metadata;
pub mod net;
pub mod placement;
pub mod protocol;
pub mod quorum;
pub mod store;
pub mod wire;

pub use store::{BookKeeperStore, Config, Metrics};
