//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::data_directory::Wipe;
use crate::failure::EXIT_CODES;

#[cfg(test)]
mod tests;

/// A durable message broker for Apache Pulsar clients, in one binary.
#[derive(Debug, Parser)]
#[command(name = "plerion", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a broker that keeps everything in one data directory and needs nothing else.
    Standalone(Standalone),
    /// Print the reference of the configuration keys.
    Config(Config),
    /// Look into a data directory that no broker uses.
    #[command(subcommand)]
    Storage(Storage),
    /// Load a broker, of Plerion or any other that speaks the Pulsar protocol, and print how it bears it.
    #[command(subcommand)]
    Bench(plerion_bench::Args),
    /// Run balancing policies on a simulated cluster and print what they do.
    Simulate(plerion_sim::SimulateArgs),
}

const STANDALONE_HELP: &str = "\
A setting is looked for on the command line, then in the environment as PLERION_<key> or PULSAR_PREFIX_<key>, then in
the configuration file; otherwise the default holds. `plerion config` lists the keys.

The ports are open on loopback only. To be reached from other machines, set bindAddress and listenOffLoopback=true;
whoever reaches the ports can read, write and delete everything.

PLERION_LOG chooses what is logged: error, warn, info (the default), debug, trace, or TARGET=LEVEL,…
SIGTERM and SIGINT end the broker in order.";

#[derive(Debug, Args)]
#[command(after_help = format!("{STANDALONE_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct Standalone {
    /// Configuration file in the format of Pulsar's broker.conf.
    #[arg(short, long = "config", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Data directory; the same as --set dataDirectory=DIR.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<String>,

    /// Set a key, whatever file and environment say. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Host or address that clients are told to connect to; the same as --set advertisedAddress=A.
    #[arg(short, long, value_name = "A")]
    pub(crate) advertised_address: Option<String>,

    /// Delete everything in the data directory before the start.
    #[arg(long)]
    wipe_data: bool,

    /// How log messages are written to the standard error output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,

    /// Accepted for Pulsar's sake, also as -nfw: there is no functions worker.
    #[arg(long)]
    no_functions_worker: bool,

    /// Accepted for Pulsar's sake, also as -nss: there is no stream storage.
    #[arg(long)]
    no_stream_storage: bool,
}

impl Standalone {
    pub(crate) fn wipe(&self) -> Wipe {
        if self.wipe_data { Wipe::Everything } else { Wipe::Nothing }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Only this key.
    pub(crate) key: Option<String>,

    /// Print a configuration file that documents every key and sets none.
    #[arg(long, conflicts_with = "key")]
    pub(crate) file: bool,
}

/// What to look for.
#[derive(Debug, Subcommand)]
pub(crate) enum Storage {
    /// Check every entry against its checksum; damage is named, and is exit code 4.
    Verify {
        /// The data directory.
        directory: PathBuf,
    },
    /// List the ledgers.
    Ls {
        /// The data directory.
        directory: PathBuf,
    },
    /// Print the entries of a ledger in hexadecimal digits, one a line.
    Dump {
        /// The data directory.
        directory: PathBuf,
        /// The ledger's number.
        ledger: u64,
        /// Only these entries: N, N-, -M or N-M.
        #[arg(long, allow_hyphen_values = true)]
        entries: Option<String>,
    },
}

/// How log messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Arguments {
    /// The arguments of this process; ends it with help or an error message where they ask for it.
    pub(crate) fn parse() -> Self {
        Self::parse_from(std::env::args_os().map(spell_out))
    }
}

/// Turns the spellings of Pulsar that are no usual ones (`-nfw`) into usual ones.
fn spell_out(argument: OsString) -> OsString {
    match argument.to_str() {
        Some("-nfw") => "--no-functions-worker".into(),
        Some("-nss") => "--no-stream-storage".into(),
        _ => argument,
    }
}
