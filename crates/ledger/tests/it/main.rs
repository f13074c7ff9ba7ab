//! Integration tests of the ledger stores.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contract;
mod crash;
mod embedded;
mod memory;
mod sim_disk;
mod support;
