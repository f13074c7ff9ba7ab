//! Where settings come from, and which of them counts.

use std::fmt;

use crate::{Key, Problem, Problems, Settings, Warning, key, nearest, properties, pulsar};

/// The prefix of environment variables that set a key, as in Pulsar's container images.
const PULSAR_PREFIX: &str = "PULSAR_PREFIX_";
/// Our own prefix, which goes before Pulsar's.
const PREFIX: &str = "PLERION_";

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: it is the default.
    Default,
    /// A line of a file.
    File {
        /// The file as it was named.
        name: String,
        /// The line the setting begins on, counted from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// The command line.
    Argument,
    /// A request to the running broker.
    Runtime,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line } => write!(f, "{name}, line {line}"),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Argument => f.write_str("command line"),
            Self::Runtime => f.write_str("request"),
        }
    }
}

/// A key and the text it was set to.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) origin: Origin,
}

/// What was asked for. A later kind of source goes before an earlier one: file, environment, command line; within one
/// source, the last setting of a key counts.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    file: Vec<Assignment>,
    pulsar_environment: Vec<Assignment>,
    environment: Vec<Assignment>,
    arguments: Vec<Assignment>,
}

impl Sources {
    /// No source: the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the text of a file in properties syntax; `name` is what messages call it.
    ///
    /// # Errors
    /// [`Problem::Syntax`] when it is not in that syntax.
    pub fn file(mut self, name: &str, text: &str) -> Result<Self, Problem> {
        let properties = properties::parse(text).map_err(|properties::Malformed { line, why }| Problem::Syntax {
            file: name.to_owned(),
            line,
            why,
        })?;
        self.file.extend(properties.into_iter().map(|properties::Property { key, value, line }| Assignment {
            key,
            value,
            origin: Origin::File { name: name.to_owned(), line },
        }));
        Ok(self)
    }

    /// Adds environment variables: `PULSAR_PREFIX_<key>` and, going before it, `PLERION_<key>`. Keys begin with a small
    /// letter, so that `PLERION_LOG` and its like are no settings; other variables are passed over.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        for (variable, value) in variables {
            let (list, key) = if let Some(key) = variable.strip_prefix(PULSAR_PREFIX) {
                (&mut self.pulsar_environment, key)
            } else if let Some(key) = variable.strip_prefix(PREFIX) {
                (&mut self.environment, key)
            } else {
                continue;
            };
            if key.starts_with(|c: char| c.is_ascii_lowercase()) {
                list.push(Assignment { key: key.to_owned(), value, origin: Origin::Environment(variable) });
            }
        }
        self
    }

    /// Adds an argument of the form `KEY=VALUE`.
    ///
    /// # Errors
    /// [`Problem::NotAnAssignment`] when it is not of that form.
    pub fn argument(self, text: &str) -> Result<Self, Problem> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(self.set(key.trim(), value)),
            _ => Err(Problem::NotAnAssignment(text.to_owned())),
        }
    }

    /// Adds a setting made on the command line.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.arguments.push(Assignment { key: key.to_owned(), value: value.to_owned(), origin: Origin::Argument });
        self
    }

    /// The settings that follow, and what is worth knowing about them.
    ///
    /// # Errors
    /// Every problem there is, not only the first.
    pub fn resolve(self) -> Result<(Settings, Vec<Warning>), Problems> {
        let (mut problems, mut warnings, mut effective) = (Vec::new(), Vec::new(), Vec::new());
        let all = [self.file, self.pulsar_environment, self.environment, self.arguments];
        for assignment in all.into_iter().flatten() {
            match admit(&assignment) {
                Ok(Some(key)) => effective.push((key, assignment)),
                Ok(None) => warnings.push(Warning::NoEffect { key: assignment.key, origin: assignment.origin }),
                Err(problem) => problems.push(problem),
            }
        }
        match Settings::with(effective) {
            Ok(settings) if problems.is_empty() => Ok((settings, warnings)),
            Ok(_) => Err(Problems(problems)),
            Err(more) => {
                problems.extend(more.0);
                Err(Problems(problems))
            }
        }
    }
}

/// The key that is set; `None` when it is one of Pulsar's without effect.
fn admit(assignment: &Assignment) -> Result<Option<&'static Key>, Problem> {
    let Assignment { key: name, value, origin } = assignment;
    if let Some(key) = key::find(name) {
        return Ok(Some(key));
    }
    if pulsar::knows(name) {
        return pulsar::refuse(name, value, origin).map(|()| None);
    }
    let known = key::keys().map(|key| key.name).chain(pulsar::names().filter(|name| key::find(name).is_none()));
    Err(Problem::Unknown { key: name.clone(), origin: origin.clone(), nearest: nearest::to(name, known) })
}
