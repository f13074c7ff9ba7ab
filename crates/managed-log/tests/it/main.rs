//! The crate's contract over the stores in memory.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on fails")]

mod appending;
mod crashes;
mod cursors;
mod embedded;
mod failures;
mod fencing;
mod known_bugs;
mod ledgers;
mod metadata;
mod orphans;
mod reading;
mod space;
mod state_log;
mod topic;
mod world;
