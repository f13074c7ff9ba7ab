//! Tests of the BookKeeper client.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod golden;
mod wire_properties;
