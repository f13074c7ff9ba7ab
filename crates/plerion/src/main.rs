//! The `plerion` binary: reads the arguments, builds the parts, waits.

mod arguments;
mod configuration;
mod data_directory;
mod failure;
mod logging;
mod metrics;
mod shutdown;
mod simulate;
mod standalone;
mod storage;

use std::io::Write;
use std::process::ExitCode;

use arguments::{Arguments, Verb};
use failure::Failure;

/// Entries are allocated on one thread and freed on another, where this allocator is five times as fast as glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "plerion: {failure}");
            failure.exit_code()
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.verb {
        Verb::Standalone(options) => {
            logging::start(options.log_format)?;
            let settings = configuration::load(&options, std::env::vars_os())?;
            standalone::run(settings, options.wipe())
        }
        Verb::Config(options) => print(&configuration::reference(&options)?),
        Verb::Storage(what) => storage::run(&what),
        Verb::Bench(load) => Ok(plerion_bench::run(&load)?),
        Verb::Simulate(what) => print(&simulate::run(&what)?),
    }
}

/// Writes to the standard output; a reader that has seen enough is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}
