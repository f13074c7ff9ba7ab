//! Tests of the BookKeeper client.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod directory;
mod golden;
mod metadata_codec;
mod quorum;
mod real;
mod scenarios;
mod sim;
mod store;
mod wire_properties;
