//! What can be wrong with settings. None of it goes away by trying again: the configuration has to change.

use std::fmt;

use crate::Origin;

/// One thing that is wrong with the configuration, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is not in properties syntax.
    #[error("{file}, line {line}: {why}")]
    Syntax {
        /// The file as it was named.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong and what would be right.
        why: String,
    },
    /// An argument is not of the form `KEY=VALUE`.
    #[error("`{0}` is not a setting: write KEY=VALUE, for example brokerServicePort=6650")]
    NotAnAssignment(String),
    /// Neither Plerion nor Pulsar knows the key.
    #[error("{origin}: no such key: {key}{}", did_you_mean(.nearest))]
    Unknown {
        /// The key.
        key: String,
        /// Where it was set.
        origin: Origin,
        /// Known keys with a similar name, the most similar first.
        nearest: Vec<&'static str>,
    },
    /// The value is not one the key can take.
    #[error("{origin}: {key} = `{value}` is not valid: it takes {accepts}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// The value as it was given.
        value: String,
        /// Where it was set.
        origin: Origin,
        /// The values that are valid, in words.
        accepts: String,
    },
    /// The setting asks for something this broker does not do and must not pretend to.
    #[error("{origin}: {key} = `{value}` cannot be honoured: {why}; remove it or set it to `{only}`")]
    Unsupported {
        /// The key.
        key: &'static str,
        /// The value as it was given.
        value: String,
        /// Where it was set.
        origin: Origin,
        /// What is not supported.
        why: &'static str,
        /// The one value that is accepted.
        only: &'static str,
    },
    /// Two settings contradict each other.
    #[error("{0}")]
    Conflict(String),
    /// The key cannot be changed while the broker runs.
    #[error("{0} cannot be changed while the broker runs: set it in the configuration file and restart")]
    NotDynamic(String),
}

fn did_you_mean(nearest: &[&str]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) }
}

/// Everything that is wrong with a configuration; at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

/// Something worth knowing about a configuration that is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A key of Pulsar's that Plerion has no use for.
    NoEffect {
        /// The key.
        key: String,
        /// Where it was set.
        origin: Origin,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEffect { key, origin } => write!(f, "{origin}: {key} is accepted, but has no effect"),
        }
    }
}
