//! The two kinds of topics.

use std::fmt;
use std::str::FromStr;

use super::InvalidName;

/// Whether a topic's messages are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Domain {
    /// Messages are stored until they are consumed.
    Persistent,
    /// Messages go to whoever is connected.
    NonPersistent,
}

impl Domain {
    /// The domain as it is written in names and paths.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::NonPersistent => "non-persistent",
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Domain {
    type Err = InvalidName;

    /// Parses a domain, whatever its case.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        [Self::Persistent, Self::NonPersistent]
            .into_iter()
            .find(|domain| domain.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| InvalidName(format!("Invalid topic domain: '{text}'")))
    }
}
