//! The laboratory from outside.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod behaviour;
mod documentation;
mod scenarios;
mod support;
