//! The scenarios.

use std::sync::atomic::AtomicBool;

use plerion_clock::SharedClock;

use crate::Error;
use crate::args::{Args, Load};
use crate::engine::Run;
use crate::progress::watched;
use crate::report::Report;

mod catchup;
mod consume;
mod e2e;
mod fanout;
mod keyshared;
mod live;
mod publish;
mod topics;

#[cfg(test)]
mod tests;

/// Runs what was asked for.
pub(crate) fn run(args: &Args, clock: &SharedClock) -> Result<Report, Error> {
    watched(|progress| {
        let stop = AtomicBool::new(false);
        let run = Run::new(clock, progress, &stop);
        match args {
            Args::Publish(args) => publish::run(args, run),
            Args::Consume(args) => consume::run(args, run),
            Args::E2e(args) => e2e::run(args, run),
            Args::Topics(args) => topics::run(args, run),
            Args::Keyshared(args) => keyshared::run(args, run),
            Args::Fanout(args) => fanout::run(args, run),
            Args::Catchup(args) => catchup::run(args, run),
        }
    })
}

/// A name that no earlier run has left anything under.
fn fresh(name: &str, run: Run<'_>) -> String {
    format!("{name}-{}", run.clock.wall_ms())
}

/// The settings of a load.
fn loaded(report: Report, load: &Load) -> Report {
    report.setting("size", load.size).setting("batch", load.batch.get()).setting("outstanding", load.outstanding.get())
}

/// How many there are a second; 0 if there was no time.
fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}
