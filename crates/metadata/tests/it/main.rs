//! The contract of `MetadataStore`, checked on every engine, and what engines promise beyond it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail by panicking")]

mod cluster;
mod conformance;
mod crash;
mod embedded;
mod etcd;
mod failures;
mod model;
mod opening;
