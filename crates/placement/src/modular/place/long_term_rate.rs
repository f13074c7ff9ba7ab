//! The broker that carries the fewest messages in the long run.

use std::cmp::Ordering;

use rand::RngCore;

use super::{Placement, PlacementRequest};
use crate::modular::BrokerData;
use crate::names::BrokerId;
use crate::selection::{Score, ScoreRule, Selection, pick};

/// Two scores closer than this, relatively, are equal.
const EQUAL: f64 = 1e-9;

/// A candidate's headroom counts as at least this, so that its weight stays finite.
const LEAST_HEADROOM: f64 = 0.01;

/// Pulsar's `LeastLongTermMessageRate`: the long-term message rate of a broker, bundles on their way included, is kept
/// alike on all of them.
///
/// With `loadBalancerHeadroomWeightedPlacement` the rate is weighted by 1 / (overload threshold − greatest usage), where
/// the usage is the greatest of all five resources, unweighted and smoothed, so that hosts on which the same messages
/// cost more get fewer. Equal scores are decided by headroom, then by the fewest bundles of the namespace. Without it the
/// score is the plain rate, as in Pulsar since 2017.
///
/// A broker above the overload threshold is chosen only if all are; then any one is. A broker that has not reported is
/// not chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastLongTermMessageRate;

/// A candidate with what decides between equal scores.
struct Ranked<'a> {
    id: &'a BrokerId,
    score: f64,
    usage: f64,
    namespace_bundles: u32,
}

impl LeastLongTermMessageRate {
    fn rank<'a>(request: &PlacementRequest<'_>, id: &'a BrokerId, broker: &BrokerData) -> (Ranked<'a>, ScoreRule) {
        let threshold = request.settings.overload_threshold();
        let weighted = request.settings.load_balancer_headroom_weighted_placement;
        let latest =
            if weighted { broker.local.usage.max_of_five() } else { broker.usage(&request.settings.weights()) };
        let usage = broker.smoothed_usage.unwrap_or(latest);
        let rate = broker.long_term_rate();
        let (score, rule) = if latest > threshold {
            (f64::INFINITY, ScoreRule::Overloaded)
        } else if weighted {
            (rate / (threshold - usage).max(LEAST_HEADROOM), ScoreRule::Scored)
        } else {
            (rate, ScoreRule::Scored)
        };
        let namespace_bundles = request.namespace_bundles.get(id).copied().unwrap_or(0);
        (Ranked { id, score, usage, namespace_bundles }, rule)
    }
}

impl Placement for LeastLongTermMessageRate {
    fn name(&self) -> &'static str {
        "least-long-term-message-rate"
    }

    fn select(&mut self, request: &PlacementRequest<'_>, rng: &mut dyn RngCore) -> Selection {
        let mut ranked = Vec::with_capacity(request.candidates.len());
        let mut scores = Vec::with_capacity(request.candidates.len());
        for id in request.candidates {
            let Some(broker) = request.data.brokers.get(id) else {
                scores.push(Score { broker: id.clone(), score: f64::INFINITY, rule: ScoreRule::NoReport });
                continue;
            };
            let (rank, rule) = Self::rank(request, id, broker);
            scores.push(Score { broker: id.clone(), score: rank.score, rule });
            ranked.push(rank);
        }
        let weighted = request.settings.load_balancer_headroom_weighted_placement;
        let best = best(ranked, weighted);
        Selection { broker: pick(&best, rng), best, scores }
    }
}

/// The candidates with the lowest score; all of them if every one is overloaded.
fn best(mut ranked: Vec<Ranked<'_>>, break_ties: bool) -> Vec<BrokerId> {
    let lowest = ranked.iter().map(|rank| rank.score).fold(f64::INFINITY, f64::min);
    if lowest.is_finite() {
        ranked.retain(|rank| rank.score - lowest <= EQUAL * lowest.abs());
        if break_ties {
            let order = |a: &Ranked<'_>, b: &Ranked<'_>| -> Ordering {
                a.usage.total_cmp(&b.usage).then(a.namespace_bundles.cmp(&b.namespace_bundles))
            };
            ranked.sort_by(order);
            let equal = ranked.iter().take_while(|rank| order(rank, &ranked[0]).is_eq()).count();
            ranked.truncate(equal);
        }
    }
    ranked.into_iter().map(|rank| rank.id.clone()).collect()
}
