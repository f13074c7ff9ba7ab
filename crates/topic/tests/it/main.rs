//! Topics over the stores in memory, as their clients see them.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on fails")]

mod access;
mod consuming;
mod deduplication;
mod dispatching;
mod durability;
mod ending;
mod message;
mod nonpersistent;
mod publishing;
mod random;
mod recorder;
mod world;
