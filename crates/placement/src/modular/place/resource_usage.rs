//! A broker that is clearly below the average usage.

use std::collections::BTreeMap;

use rand::RngCore;
use serde::Deserialize;
use serde_json::Value;

use super::{Placement, PlacementRequest};
use crate::modular::BrokerData;
use crate::names::BrokerId;
use crate::selection::{Score, ScoreRule, Selection, below_average, pick};

/// Pulsar's `LeastResourceUsageWithWeight` of the Modular manager: any broker whose smoothed usage is below the mean of
/// the candidates by `loadBalancerAverageResourceUsageDifferenceThresholdPercentage`; any candidate if there is none.
///
/// A broker without bundles or traffic starts afresh, so that one that comes back is not kept idle by what it carried
/// before (apache/pulsar#16766).
#[derive(Clone, Debug, Default)]
pub struct LeastResourceUsageWithWeight {
    smoothed: BTreeMap<BrokerId, f64>,
}

impl LeastResourceUsageWithWeight {
    /// The smoothed usage of each broker that has been a candidate, 1 being 100 %.
    #[must_use]
    pub fn smoothed_usage(&self) -> &BTreeMap<BrokerId, f64> {
        &self.smoothed
    }

    fn smooth(&mut self, id: &BrokerId, broker: &BrokerData, request: &PlacementRequest<'_>) -> f64 {
        let history = request.settings.load_balancer_history_resource_percentage;
        let usage = broker.usage(&request.settings.weights());
        let idle =
            broker.local.bundles.is_empty() || (broker.local.msg_rate_in == 0.0 && broker.local.msg_rate_out == 0.0);
        let smoothed = match self.smoothed.get(id) {
            Some(before) if !idle => before * history + (1.0 - history) * usage,
            _ => usage,
        };
        self.smoothed.insert(id.clone(), smoothed);
        smoothed
    }
}

impl Placement for LeastResourceUsageWithWeight {
    fn name(&self) -> &'static str {
        "least-resource-usage-with-weight"
    }

    fn select(&mut self, request: &PlacementRequest<'_>, rng: &mut dyn RngCore) -> Selection {
        self.smoothed.retain(|broker, _| request.data.brokers.contains_key(broker));
        let mut scores = Vec::with_capacity(request.candidates.len());
        for id in request.candidates {
            scores.push(match request.data.brokers.get(id) {
                Some(broker) => {
                    let score = self.smooth(id, broker, request);
                    Score { broker: id.clone(), score, rule: ScoreRule::Scored }
                }
                None => Score { broker: id.clone(), score: f64::INFINITY, rule: ScoreRule::NoReport },
            });
        }
        let margin = request.settings.load_balancer_average_resource_usage_difference_threshold_percentage / 100.0;
        let best = below_average(&scores, margin);
        Selection { broker: pick(&best, rng), best, scores }
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.smoothed).unwrap_or_default()
    }

    fn restore(&mut self, state: &Value) -> Result<(), serde_json::Error> {
        self.smoothed = BTreeMap::deserialize(state)?;
        Ok(())
    }
}
