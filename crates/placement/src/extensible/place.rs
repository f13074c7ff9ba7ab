//! A broker that is clearly below the average load.

use std::collections::BTreeMap;

use rand::RngCore;

use crate::load::BrokerLoadData;
use crate::names::BrokerId;
use crate::selection::{Score, ScoreRule, Selection, below_average, pick};
use crate::settings::Settings;

/// Pulsar's `LeastResourceUsageWithWeight` of the Extensible manager: any candidate whose published moving average is
/// below the candidates' mean by `loadBalancerAverageResourceUsageDifferenceThresholdPercentage`; any candidate, also one
/// that published nothing, if there is none.
pub fn select_least_usage(
    candidates: &[BrokerId],
    loads: &BTreeMap<BrokerId, BrokerLoadData>,
    settings: &Settings,
    rng: &mut dyn RngCore,
) -> Selection {
    let score = |id: &BrokerId| match loads.get(id) {
        Some(load) => Score { broker: id.clone(), score: load.weighted_max_ema, rule: ScoreRule::Scored },
        None => Score { broker: id.clone(), score: f64::INFINITY, rule: ScoreRule::NoReport },
    };
    let scores: Vec<Score> = candidates.iter().map(score).collect();
    let margin = settings.load_balancer_average_resource_usage_difference_threshold_percentage / 100.0;
    let best = below_average(&scores, margin);
    Selection { broker: pick(&best, rng), best, scores }
}
