//! What is simulated: the text of a scenario file, read and checked.

mod check;
mod error;
mod events;
mod hosts;
mod load;
mod random;
mod values;

pub use error::ScenarioError;
pub use events::{Action, Event};
pub use hosts::HostGroup;
pub use load::{Bundles, Diurnal, Flash, Growth, Load, Noise, Sizes, Start, Step, TraceFile};
pub use random::random;
pub use values::{Amount, Count, Level, Seconds, Share, Usage};

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

/// A cluster, its load, and what happens to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// Its name: the file's, without the extension.
    #[serde(skip)]
    pub name: String,
    /// One sentence on what it is for.
    #[serde(default)]
    pub about: String,
    /// How long it is simulated.
    pub duration: Seconds,
    /// How long a broker has to be silent before the cluster takes it for dead.
    #[serde(default = "default_session_timeout")]
    pub session_timeout: Seconds,
    /// Brokers measure, and the leader decides, at most this often. For clusters in which more often would be too much.
    #[serde(default)]
    pub pace: Seconds,
    /// Share of the reports that get lost on the way; their sender notices and sends the next one.
    #[serde(default = "default_lost")]
    pub reports_lost: Share,
    /// Reports arrive up to so much later than they were made.
    #[serde(default = "default_late")]
    pub reports_late: Seconds,
    /// The hosts the cluster starts with, in groups of equal ones.
    pub hosts: Spanned<Vec<HostGroup>>,
    /// The bundles.
    pub bundles: Bundles,
    /// How the load changes over time.
    #[serde(default)]
    pub load: Load,
    /// What happens to the hosts.
    #[serde(default)]
    pub events: Vec<Spanned<Event>>,
}

fn default_session_timeout() -> Seconds {
    Seconds(10.0)
}

fn default_lost() -> Share {
    Share(0.1)
}

fn default_late() -> Seconds {
    Seconds(2.0)
}

impl Scenario {
    /// Reads a scenario file. A trace it names is looked for beside it.
    ///
    /// # Errors
    /// [`ScenarioError`]; it names the line, and what would be accepted there.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| ScenarioError::Unreadable { path: path.to_owned(), cause })?;
        let mut scenario = Self::parse(&text).map_err(|error| error.in_file(path))?;
        scenario.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let (Some(trace), Some(folder)) = (&mut scenario.load.trace, path.parent()) {
            trace.file = folder.join(&trace.file);
        }
        Ok(scenario)
    }

    /// Reads the text of a scenario.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`].
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text).map_err(|error| ScenarioError::of_toml(text, &error))?;
        check::check(&scenario, text)?;
        Ok(scenario)
    }

    /// The number of hosts at the start.
    #[must_use]
    pub fn host_count(&self) -> usize {
        self.hosts.get_ref().iter().map(|group| group.count.0 as usize).sum()
    }
}
