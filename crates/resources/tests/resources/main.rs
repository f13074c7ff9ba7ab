//! The resources over a metadata store, and the names against recorded cases.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod names;
