//! The bundles of a namespace, spread evenly.

use super::{BrokerFilter, FilterError, FilterRequest, keep_least};
use crate::bundle::special::Special;
use crate::names::BrokerId;

/// Keeps the brokers with the fewest bundles of the namespace, if `loadBalancerDistributeBundlesEvenlyEnabled` or the
/// namespace is `pulsar/system`.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvenBundlesFilter;

impl BrokerFilter for EvenBundlesFilter {
    fn name(&self) -> &'static str {
        "even_bundles_filter"
    }

    fn apply(&self, request: &FilterRequest<'_>, candidates: &mut Vec<BrokerId>) -> Result<(), FilterError> {
        let forced = Special::of(request.bundle.namespace()) == Some(Special::System);
        if forced || request.settings.load_balancer_distribute_bundles_evenly_enabled {
            keep_least(candidates, request.namespace_bundles);
        }
        Ok(())
    }
}
