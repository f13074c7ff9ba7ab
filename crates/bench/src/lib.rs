//! Load for anything that speaks the Pulsar protocol, and figures of how it was borne.
//!
//! The client is made to cost less than the broker: blocking sockets, one thread to write and one to read, frames
//! that are built once and patched, payloads that are never copied, and a checksum that is computed over the few
//! bytes that change. Latency at a fixed rate is counted from when a message was due, so a broker that stalls is
//! charged for what it kept waiting.

mod args;
mod checksum;
mod connection;
mod engine;
mod error;
mod fields;
mod frames;
mod latency;
mod pace;
mod progress;
mod publisher;
mod report;
mod routes;
mod scenario;
mod subscriber;
mod template;
mod window;

pub use args::{
    Args, CatchupArgs, ConsumeArgs, E2eArgs, FanoutArgs, KeysharedArgs, Load, PublishArgs, Schedule, Target, TopicsArgs,
};
pub use error::Error;

use std::io::Write;

use plerion_clock::SystemClock;

/// Runs the scenario and writes its figures to standard output.
///
/// Blocks until the scenario is over. While it runs, a line a second on standard error tells how it goes, if that is
/// a terminal.
pub fn run(args: &Args) -> Result<(), Error> {
    let report = scenario::run(args, &SystemClock::shared())?;
    let text = if args.target().json { report.json() } else { report.text() };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(Error::Output)
}
