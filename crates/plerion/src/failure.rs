//! Why the process ends without success, and with which exit code.

use std::path::PathBuf;
use std::process::ExitCode;

use plerion_config::{Problem, Problems};

use crate::data_directory;

/// The exit codes, as `--help` explains them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  failure while running
  2  wrong arguments or configuration
  3  the data directory cannot be used: in use by another process, of a newer format, or not Plerion's
  4  the data directory holds damaged entries";

/// Why the process ends without success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The configuration file cannot be read.
    #[error("cannot read the configuration file {}: {cause}", path.display())]
    ConfigurationFile { path: PathBuf, cause: std::io::Error },
    /// The configuration is not valid.
    #[error("the configuration is not valid\n{0}")]
    Configuration(#[from] Problems),
    /// `plerion config` was asked for a key that is not there.
    #[error("{0}")]
    NoSuchKey(Problem),
    /// The filter of log messages is not valid.
    #[error("PLERION_LOG = `{filter}` is not valid: {cause}; write a level such as info, or TARGET=LEVEL,…")]
    LogFilter { filter: String, cause: String },
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDirectory(#[from] data_directory::Error),
    /// The ledgers cannot be opened.
    #[error("the ledgers cannot be opened: {0}")]
    Ledgers(#[from] plerion_ledger::embedded::OpenError),
    /// The metadata cannot be opened.
    #[error("the metadata cannot be opened: {0}")]
    Metadata(#[from] plerion_metadata::OpenError),
    /// The broker does not start.
    #[error(transparent)]
    Broker(#[from] plerion_broker::StartError),
    /// The REST interface cannot be served.
    #[error("cannot serve HTTP on {address}: {cause}")]
    Http { address: String, cause: std::io::Error },
    /// Settings that were changed while the broker ran cannot be restored.
    #[error(transparent)]
    Restore(#[from] plerion_admin::RestoreError),
    /// `plerion bench` has failed.
    #[error(transparent)]
    Bench(#[from] plerion_bench::Error),
    /// `plerion simulate` cannot be run like this.
    #[error(transparent)]
    Simulate(#[from] plerion_sim::SimulateError),
    /// A range of entries is none.
    #[error("`{0}` is no range of entries: write N, N-, -M or N-M")]
    EntryRange(String),
    /// Entries do not match their checksums.
    #[error("{0} places are damaged")]
    Damaged(usize),
    /// The standard output cannot be written to.
    #[error("cannot write to the standard output: {0}")]
    Output(std::io::Error),
    /// The operating system refused something the process needs.
    #[error("cannot {what}: {cause}")]
    System { what: &'static str, cause: std::io::Error },
}

impl Failure {
    /// The code the process ends with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Output(_)
            | Self::System { .. }
            | Self::Broker(_)
            | Self::Http { .. }
            | Self::Restore(_)
            | Self::Bench(_)
            | Self::DataDirectory(data_directory::Error::Io { .. }) => 1,
            Self::ConfigurationFile { .. }
            | Self::Configuration(_)
            | Self::NoSuchKey(_)
            | Self::Simulate(_)
            | Self::LogFilter { .. }
            | Self::EntryRange(_) => 2,
            Self::DataDirectory(_) | Self::Ledgers(_) | Self::Metadata(_) => 3,
            Self::Damaged(_) => 4,
        }
        .into()
    }
}
