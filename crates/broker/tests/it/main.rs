//! The broker as clients meet it: the binary protocol through real sockets, row by row.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests fail as tests do")]

mod access_modes;
mod acks;
mod dispatch;
mod ends;
mod framing;
mod handshake;
mod keep_alive;
mod leftovers;
mod lookup;
mod partitions;
mod pressure;
mod producer;
mod readers;
mod schemas;
mod seek;
mod send;
mod subscribe;
mod support;
mod topic_lists;
mod transactions;
