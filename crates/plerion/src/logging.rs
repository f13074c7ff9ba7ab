//! Log messages: to the standard error output, for people or for machines.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

use crate::arguments::LogFormat;
use crate::failure::Failure;

/// The environment variable that chooses what is logged.
const FILTER: &str = "PLERION_LOG";

/// Starts logging for the whole process.
pub(crate) fn start(format: LogFormat) -> Result<(), Failure> {
    let filter = std::env::var(FILTER).unwrap_or_else(|_| "info".into());
    let directives =
        EnvFilter::try_new(&filter).map_err(|error| Failure::LogFilter { filter, cause: error.to_string() })?;
    let builder = tracing_subscriber::fmt().with_env_filter(directives).with_writer(stderr);
    match format {
        LogFormat::Text => builder.with_ansi(stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}
