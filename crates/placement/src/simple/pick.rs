//! Which broker takes a bundle.

use std::cmp::Ordering;

use rand::{Rng, RngCore};
use serde::{Deserialize, Serialize};

use super::Ranking;
use crate::load::ResourceQuota;
use crate::names::BrokerId;
use crate::settings::Settings;

/// How the Simple manager ranks brokers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Strategy {
    /// The leader fills brokers up to the underload threshold before it opens an idle one, and then takes the least
    /// loaded.
    #[default]
    LeastLoadedServer,
    /// As [`Strategy::LeastLoadedServer`], by message rate.
    LeastMsgPerSecond,
    /// Each broker decides for itself, at random with the chances that free capacity gives.
    WeightedRandomSelection,
}

/// A candidate with its ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The candidate.
    pub broker: BrokerId,
    /// What is taken of it.
    pub ranking: Ranking,
    /// Whether it neither has bundles nor is about to get one.
    pub is_idle: bool,
}

impl Strategy {
    /// The strategy with this name in `loadBalancerStrategy` or `loadBalancerPlacementStrategy`; any other name means
    /// [`Strategy::WeightedRandomSelection`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "leastLoadedServer" => Self::LeastLoadedServer,
            "leastMsgPerSecond" => Self::LeastMsgPerSecond,
            _ => Self::WeightedRandomSelection,
        }
    }

    /// Whether only the leader decides.
    #[must_use]
    pub fn is_centralized(self) -> bool {
        self != Self::WeightedRandomSelection
    }

    /// The rank shown to operators: percent, messages per second, or free capacity in bundles of the quota `each`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a rank is a whole number, cut down")]
    pub fn rank(self, ranking: &Ranking, each: &ResourceQuota) -> i64 {
        match self {
            Self::LeastLoadedServer => ranking.load() as i64,
            Self::LeastMsgPerSecond => ranking.message_rate() as i64,
            Self::WeightedRandomSelection => {
                let free = (100.0 - ranking.load()) / 100.0;
                (ranking.capacity(each) as f64 * free * free) as i64
            }
        }
    }

    fn compare(self, a: &Ranking, b: &Ranking) -> Ordering {
        match self {
            Self::LeastMsgPerSecond => a.cmp_message_rate(b),
            Self::LeastLoadedServer | Self::WeightedRandomSelection => a.cmp_load(b),
        }
    }
}

/// Chooses among `candidates` for a bundle of the quota `each`; `None` if there is none. `turn` counts the choices made,
/// so that when every broker is full they are taken in turn.
pub fn pick<'a>(
    candidates: &'a [Ranked],
    strategy: Strategy,
    each: &ResourceQuota,
    turn: usize,
    settings: &Settings,
    rng: &mut dyn RngCore,
) -> Option<&'a Ranked> {
    if candidates.is_empty() {
        return None;
    }
    match strategy {
        Strategy::WeightedRandomSelection => weighted(candidates, strategy, each, rng),
        Strategy::LeastLoadedServer | Strategy::LeastMsgPerSecond => least(candidates, strategy, each, turn, settings),
    }
}

fn least<'a>(
    candidates: &'a [Ranked],
    strategy: Strategy,
    each: &ResourceQuota,
    turn: usize,
    settings: &Settings,
) -> Option<&'a Ranked> {
    let idle = candidates.iter().find(|candidate| candidate.is_idle);
    let busy = candidates.iter().filter(|candidate| !candidate.is_idle);
    let Some(best) = busy.min_by(|a, b| strategy.compare(&a.ranking, &b.ranking)) else { return idle };
    let load = best.ranking.load();
    if idle.is_some() && load > settings.load_balancer_broker_underloaded_threshold_percentage {
        return idle;
    }
    if strategy == Strategy::LeastMsgPerSecond {
        return Some(best);
    }
    if load >= 100.0 {
        candidates.get(turn % candidates.len())
    } else if load > settings.load_balancer_broker_overloaded_threshold_percentage {
        let free = |ranked: &Ranked| ranked.ranking.capacity(each) as f64 * (100.0 - ranked.ranking.load());
        candidates.iter().max_by(|a, b| free(a).total_cmp(&free(b)))
    } else {
        Some(best)
    }
}

/// At random, each with the chance its rank gives; with equal chances if nobody has room.
fn weighted<'a>(
    candidates: &'a [Ranked],
    strategy: Strategy,
    each: &ResourceQuota,
    rng: &mut dyn RngCore,
) -> Option<&'a Ranked> {
    let ranks: Vec<u64> =
        candidates.iter().map(|c| u64::try_from(strategy.rank(&c.ranking, each)).unwrap_or(0)).collect();
    let total = ranks.iter().fold(0_u64, |sum, rank| sum.saturating_add(*rank));
    if total == 0 {
        return candidates.get(rng.random_range(0..candidates.len()));
    }
    let mut ticket = rng.random_range(0..total);
    for (candidate, rank) in candidates.iter().zip(ranks) {
        if ticket < rank {
            return Some(candidate);
        }
        ticket -= rank;
    }
    candidates.last()
}
