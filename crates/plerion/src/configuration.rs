//! From the command line to settings, and the reference of the keys.

use std::ffi::OsString;
use std::fs;

use plerion_config::{Problem, Settings, Sources, Warning, find, reference};

use crate::arguments::{Config, Standalone};
use crate::failure::Failure;

/// The settings that arguments, environment and configuration file make. Logs what has no effect.
pub(crate) fn load(
    options: &Standalone,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Settings, Failure> {
    let mut sources = Sources::new();
    if let Some(path) = &options.config {
        let text =
            fs::read_to_string(path).map_err(|cause| Failure::ConfigurationFile { path: path.clone(), cause })?;
        sources = sources.file(&path.display().to_string(), &text).map_err(invalid)?;
    }
    let texts = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    sources = sources.environment(environment.into_iter().filter_map(texts));
    for text in &options.set {
        sources = sources.argument(text).map_err(invalid)?;
    }
    for (key, value) in [("dataDirectory", &options.data), ("advertisedAddress", &options.advertised_address)] {
        if let Some(value) = value {
            sources = sources.set(key, value);
        }
    }
    let (settings, warnings) = sources.resolve()?;
    for warning in without_effect(&warnings) {
        tracing::warn!("{warning}");
    }
    Ok(settings)
}

fn invalid(problem: Problem) -> Failure {
    Failure::Configuration(problem.into())
}

/// At most a few lines, however many of Pulsar's keys a file sets.
fn without_effect(warnings: &[Warning]) -> Vec<String> {
    const LISTED: usize = 5;
    let mut lines: Vec<String> = warnings.iter().take(LISTED).map(Warning::to_string).collect();
    if let Some(more) = warnings.get(LISTED..).filter(|more| !more.is_empty()) {
        let names = |Warning::NoEffect { key, .. }: &Warning| key.clone();
        let names: Vec<String> = more.iter().map(names).collect();
        lines.push(format!("{} more keys are accepted, but have no effect: {}", more.len(), names.join(", ")));
    }
    lines
}

/// What `plerion config` prints.
pub(crate) fn reference(options: &Config) -> Result<String, Failure> {
    match &options.key {
        None if options.file => Ok(reference::file()),
        None => Ok(reference::all()),
        Some(name) => match find(name) {
            Some(key) => Ok(reference::entry(key)),
            None => Sources::new().set(name, "").resolve().map_or_else(
                |problems| Err(Failure::NoSuchKey(problems.0.into_iter().next().expect("there is a problem"))),
                |_| Ok(format!("{name} is a key of Pulsar's that is accepted, but has no effect\n")),
            ),
        },
    }
}
