//! The hand-written codecs against independent ones: prost, and frames that Pulsar itself wrote.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod command;
mod corpus;
mod encode;
mod judge;
mod metadata;
mod mutate;
mod recorded;
