//! Replays the recorded decisions of Pulsar 4.0.7's own classes.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are test code")]

mod bundles;
mod channel;
mod explanations;
mod filters;
mod fixture;
mod hostile;
mod json_texts;
mod load_maths;
mod modular_shed;
mod own;
mod placement;
mod service_unit;
mod simple;
mod split;
mod transfer;
