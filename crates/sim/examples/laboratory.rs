//! `plerion simulate` by itself, with an allocator that counts, so that `bytes_per_bundle` is measured.

use std::alloc::System;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use plerion_clock::SystemClock;
use plerion_placement::Registry;
use plerion_sim::{SimulateArgs, Tools, simulate};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    simulate: SimulateArgs,
}

fn allocated() -> u64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated) as u64
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]
fn main() -> ExitCode {
    let (registry, clock, stop) = (Registry::default(), SystemClock::shared(), AtomicBool::new(false));
    let tools = Tools { registry: &registry, clock: clock.as_ref(), stop: &stop, allocated: Some(allocated) };
    match simulate(&Arguments::parse().simulate, &tools) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("laboratory: {error}");
            ExitCode::from(2)
        }
    }
}
