//! Integration tests of the ledger stores.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contract;
mod crash;
mod damage;
mod embedded;
mod faults;
mod memory;
mod space;
mod support;

use plerion_ledger::disk::sim as sim_disk;
