//! Why a scenario cannot be used.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why a scenario cannot be used. The file has to be corrected.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A value is missing, unknown or out of bounds.
    #[error("{}line {line}: {message}", file_prefix(file.as_deref()))]
    Invalid {
        /// The file, where there is one.
        file: Option<PathBuf>,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// A line of a load trace is wrong.
    #[error("{} line {line}: {message}", path.display())]
    Trace {
        /// The trace.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what would be accepted.
        message: String,
    },
}

fn file_prefix(file: Option<&Path>) -> String {
    file.map_or_else(String::new, |file| format!("{} ", file.display()))
}

impl ScenarioError {
    pub(super) fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim().replace('\n', "; ");
        match error.span() {
            Some(span) => Self::at(text, &span, message),
            None => Self::Invalid { file: None, line: 1, message },
        }
    }

    pub(super) fn at(text: &str, span: &Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        Self::Invalid { file: None, line: before.matches('\n').count() + 1, message: message.into() }
    }

    pub(super) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Invalid { line, message, .. } => Self::Invalid { file: Some(path.to_owned()), line, message },
            other => other,
        }
    }
}
