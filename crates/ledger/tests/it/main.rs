//! Integration tests of the ledger stores.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contract;
mod crash;
mod damage;
mod embedded;
mod faults;
mod memory;
mod sim_disk;
mod space;
mod support;
