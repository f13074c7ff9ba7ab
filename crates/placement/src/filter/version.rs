//! Brokers of the latest version, so that bundles move forward during an upgrade.

use std::cmp::Ordering;

use semver::Version;

use super::{BrokerFilter, FilterError, FilterRequest};
use crate::names::BrokerId;

/// `broker_version_filter`: with `preferLaterVersions`, keeps the brokers of the highest semantic version. Build metadata
/// does not count; a pre-release (`-SNAPSHOT`) is below its release.
#[derive(Clone, Copy, Debug, Default)]
pub struct VersionFilter;

impl BrokerFilter for VersionFilter {
    fn name(&self) -> &'static str {
        "broker_version_filter"
    }

    fn apply(&self, request: &FilterRequest<'_>, candidates: &mut Vec<BrokerId>) -> Result<(), FilterError> {
        if !request.settings.prefer_later_versions {
            return Ok(());
        }
        let versions = candidates.iter().map(|broker| version_of(broker, request)).collect::<Result<Vec<_>, _>>()?;
        let Some(latest) = versions.iter().max_by(|a, b| a.cmp_precedence(b)) else { return Ok(()) };
        let mut is_latest = versions.iter().map(|version| version.cmp_precedence(latest) == Ordering::Equal);
        candidates.retain(|_| is_latest.next().unwrap_or(false));
        Ok(())
    }
}

fn version_of(broker: &BrokerId, request: &FilterRequest<'_>) -> Result<Version, FilterError> {
    let stated = request.cluster.facts(broker).and_then(|facts| facts.version).unwrap_or_default();
    let refuse = |_| FilterError::Version { broker: broker.clone(), version: stated.to_owned() };
    Version::parse(stated).map_err(refuse)
}
