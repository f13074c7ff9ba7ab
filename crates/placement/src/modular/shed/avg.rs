//! Moves load between the busiest and the idlest broker, the second busiest and the second idlest, and so on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::threshold::why_nothing;
use super::{Shedder, candidates, shed};
use crate::explain::{Block, BrokerRule, BundleRule, Explanation, Plan};
use crate::load::MessageAverages;
use crate::modular::LoadData;
use crate::names::BrokerId;
use crate::settings::Settings;

/// Pulsar's `AvgShedder` (PIP-364): pairs brokers from both ends of their order by usage and, where a pair differs for
/// long enough, moves a share of the difference from the one to the other. Its plans name the destination.
///
/// Brokers are ordered by their exact usage; Pulsar 4.0 cuts differences to whole percent points first.
#[derive(Clone, Debug, Default)]
pub struct AvgShedder {
    hits: BTreeMap<BrokerId, Hits>,
}

/// For how many cycles a broker has differed from its partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits {
    /// By the low threshold.
    pub low: u32,
    /// By the high threshold.
    pub high: u32,
}

struct Pair<'a> {
    idle: &'a BrokerId,
    busy: &'a BrokerId,
    difference: f64,
}

impl AvgShedder {
    /// For how many cycles each broker has differed from its partner.
    #[must_use]
    pub fn hits(&self) -> &BTreeMap<BrokerId, Hits> {
        &self.hits
    }

    /// Counts the cycle for a pair.
    fn count(&mut self, pair: &Pair<'_>, settings: &Settings) {
        let low = settings.load_balancer_avg_shedder_low_threshold;
        let high = settings.load_balancer_avg_shedder_high_threshold;
        for broker in [pair.idle, pair.busy] {
            let hits = self.hits.entry(broker.clone()).or_default();
            *hits = if pair.difference < low {
                Hits::default()
            } else if pair.difference < high {
                Hits { low: hits.low + 1, high: 0 }
            } else {
                Hits { low: hits.low + 1, high: hits.high + 1 }
            };
        }
    }

    fn is_due(&self, pair: &Pair<'_>, settings: &Settings) -> bool {
        [pair.idle, pair.busy].into_iter().filter_map(|broker| self.hits.get(broker)).any(|hits| {
            hits.high >= settings.load_balancer_avg_shedder_hit_count_high_threshold
                || hits.low >= settings.load_balancer_avg_shedder_hit_count_low_threshold
        })
    }
}

/// The brokers by ascending usage in percent, ties by id.
fn order<'a>(data: &'a LoadData, settings: &Settings) -> Vec<(&'a BrokerId, f64)> {
    let weights = settings.weights();
    let mut order: Vec<(&BrokerId, f64)> =
        data.brokers.iter().map(|(id, broker)| (id, broker.usage(&weights) * 100.0)).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    order
}

/// Moves a share of the difference in message rate, or else in throughput, from the busy to the idle broker.
fn even_out(data: &LoadData, pair: &Pair<'_>, settings: &Settings, plan: &mut Plan) -> BrokerRule {
    let (Some(idle), Some(busy)) = (data.brokers.get(pair.idle), data.brokers.get(pair.busy)) else {
        return BrokerRule::NoLoadData;
    };
    let share = settings.max_unload_percentage;
    let rate = (busy.local.rate() - idle.local.rate()) * share;
    let throughput = (busy.local.throughput() - idle.local.throughput()) * share;
    let (mut left, traffic): (f64, fn(&MessageAverages) -> f64) = if rate > settings.min_unload_message as f64 {
        (rate, MessageAverages::rate)
    } else if throughput > settings.min_unload_message_throughput as f64 {
        (throughput, MessageAverages::throughput)
    } else {
        return BrokerRule::TooLittle;
    };
    let before = plan.moves.len();
    for candidate in candidates(data, pair.busy, busy, traffic, &mut plan.explanation) {
        let rule = if candidate.traffic <= 0.0 {
            BundleRule::NoTraffic
        } else if candidate.traffic > left {
            BundleRule::TooBig
        } else {
            BundleRule::Moves
        };
        plan.explanation.judge_bundle(candidate.bundle, pair.busy, candidate.traffic, rule);
        if rule == BundleRule::Moves {
            left -= candidate.traffic;
            plan.moves.push(shed(candidate.bundle, pair.busy, Some(pair.idle)));
        }
    }
    if plan.moves.len() == before { BrokerRule::NothingMovable } else { BrokerRule::Sheds }
}

impl Shedder for AvgShedder {
    fn name(&self) -> &'static str {
        "avg"
    }

    fn decide(&mut self, data: &LoadData, settings: &Settings) -> Plan {
        let mut plan = Plan::empty(Explanation::of(self.name()));
        let low = settings.load_balancer_avg_shedder_low_threshold;
        plan.explanation.limit("low threshold %", low);
        plan.explanation.limit("high threshold %", settings.load_balancer_avg_shedder_high_threshold);
        self.hits.retain(|broker, _| data.brokers.contains_key(broker));
        let order = order(data, settings);
        let pairs = order.iter().zip(order.iter().rev()).take(order.len() / 2);
        let pairs: Vec<Pair<'_>> =
            pairs.map(|(low, high)| Pair { idle: low.0, busy: high.0, difference: high.1 - low.1 }).collect();
        if pairs.iter().all(|pair| pair.difference < low) {
            self.hits.clear();
            return Plan::blocked(plan.explanation, Block::Balanced);
        }
        if order.len() % 2 == 1 {
            // The one in the middle has no partner to differ from.
            self.hits.remove(order[order.len() / 2].0);
        }
        for pair in &pairs {
            self.count(pair, settings);
            let rule = if pair.difference < low {
                BrokerRule::WithinLimits
            } else if self.is_due(pair, settings) {
                self.hits.remove(pair.idle);
                self.hits.remove(pair.busy);
                even_out(data, pair, settings, &mut plan)
            } else {
                BrokerRule::HitCount
            };
            plan.explanation.judge_broker(pair.busy, pair.difference, rule);
            if rule == BrokerRule::Sheds {
                plan.explanation.judge_broker(pair.idle, pair.difference, BrokerRule::Takes);
            }
        }
        if plan.moves.is_empty() {
            let waits = plan.explanation.brokers.iter().any(|verdict| verdict.rule == BrokerRule::HitCount);
            plan.explanation.blocked = Some(if waits { Block::HitCount } else { why_nothing(&plan.explanation) });
        }
        plan
    }
    fn state(&self) -> Value {
        serde_json::to_value(&self.hits).unwrap_or_default()
    }

    fn restore(&mut self, state: &Value) -> Result<(), serde_json::Error> {
        self.hits = BTreeMap::deserialize(state)?;
        Ok(())
    }
}
