//! What one value alone does not show to be wrong.

use super::events::Action;
use super::{Scenario, ScenarioError};

pub(super) fn check(scenario: &Scenario, text: &str) -> Result<(), ScenarioError> {
    let start = scenario.host_count();
    if scenario.hosts.get_ref().is_empty() {
        return Err(ScenarioError::at(
            text,
            &scenario.hosts.span(),
            "there are no hosts: write at least one [[hosts]]",
        ));
    }
    if let Some(usage) = &scenario.bundles.usage
        && usage.get_ref().len() != start
    {
        let message =
            format!("usage has {} numbers for {start} hosts: write one number for each", usage.get_ref().len());
        return Err(ScenarioError::at(text, &usage.span(), message));
    }
    let joining: usize = scenario
        .events
        .iter()
        .filter_map(|event| event.get_ref().join.as_ref())
        .map(|group| group.count.0 as usize)
        .sum();
    for event in &scenario.events {
        let (span, event) = (event.span(), event.get_ref());
        let wrong = |message: String| Err(ScenarioError::at(text, &event.action.span(), message));
        if event.at > scenario.duration {
            let message = format!("the event is after the end: write a time up to {}", scenario.duration);
            return Err(ScenarioError::at(text, &span, message));
        }
        match event.action.get_ref() {
            Action::Join if event.join.is_none() => {
                return wrong("join needs hosts: write join = { count = 1 }".into());
            }
            Action::Join if event.hosts.is_some() => {
                return wrong("join takes no hosts: the new ones follow the last".into());
            }
            Action::Crash | Action::Leave if event.hosts.is_none() => {
                return wrong("which hosts? write hosts = [0] for the first one".into());
            }
            Action::Crash | Action::Leave | Action::Restart if event.join.is_some() => {
                return wrong("only the action join takes join".into());
            }
            Action::Restart if event.down.is_none() => {
                return wrong("restart needs a time such as down = \"30s\"".into());
            }
            _ => {}
        }
        if let Some(hosts) = &event.hosts
            && let Some(host) = hosts.get_ref().iter().find(|host| **host as usize >= start + joining)
        {
            let message = format!("there is no host {host}: write numbers from 0 to {}", start + joining - 1);
            return Err(ScenarioError::at(text, &hosts.span(), message));
        }
    }
    Ok(())
}
