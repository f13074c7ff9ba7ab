//! Sheds from the broker with the most traffic when another has much less.

use super::threshold::why_nothing;
use super::{Shedder, candidates, shed};
use crate::explain::{Block, BrokerRule, BundleRule, Explanation, Plan};
use crate::load::{LocalBrokerData, MessageAverages};
use crate::modular::LoadData;
use crate::names::BrokerId;
use crate::settings::Settings;

/// Below this a least value counts as 1, so that a ratio to it stays finite.
const NEGLIGIBLE: f64 = 1e-6;

/// Pulsar's `UniformLoadShedder`: compares the message rates of the busiest and the idlest broker, then their
/// throughputs, and sheds a share of the difference from the busiest.
///
/// A bundle moves only if it fits into what is left to move; Pulsar 4.0 accepts one up to 1 000 above.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformLoadShedder;

/// The brokers with the most and the least of one kind of traffic.
struct Extremes<'a> {
    busiest: &'a BrokerId,
    most: f64,
    least: f64,
}

/// What to shed from whom.
struct Goal<'a> {
    from: &'a BrokerId,
    need: i64,
    least: i64,
    traffic: fn(&MessageAverages) -> f64,
}

impl<'a> Extremes<'a> {
    fn of(data: &'a LoadData, traffic: fn(&LocalBrokerData) -> f64) -> Option<Self> {
        let mut extremes: Option<Self> = None;
        for (id, broker) in &data.brokers {
            let value = traffic(&broker.local);
            let seen = extremes.get_or_insert(Self { busiest: id, most: value, least: value });
            if value > seen.most {
                (seen.busiest, seen.most) = (id, value);
            }
            seen.least = seen.least.min(value);
        }
        extremes
    }

    /// The least value, as far as it can be divided by.
    fn divisor(&self) -> f64 {
        if self.least.abs() <= NEGLIGIBLE { 1.0 } else { self.least }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a fraction of a message or byte does not count")]
    fn share(&self, settings: &Settings) -> i64 {
        ((self.most - self.divisor()) * settings.max_unload_percentage) as i64
    }
}

impl UniformLoadShedder {
    fn goal<'a>(data: &'a LoadData, settings: &Settings, explanation: &mut Explanation) -> Option<Goal<'a>> {
        let rates = Extremes::of(data, LocalBrokerData::rate)?;
        let throughputs = Extremes::of(data, LocalBrokerData::throughput)?;
        let rate_difference = (rates.most - rates.divisor()) * 100.0 / rates.divisor();
        let throughput_ratio = throughputs.most / throughputs.divisor();
        let rate_limit = settings.load_balancer_msg_rate_difference_shedder_threshold;
        let throughput_limit = settings.load_balancer_msg_throughput_multiplier_difference_shedder_threshold;
        explanation.limit("rate difference %", rate_difference);
        explanation.limit("rate difference limit %", rate_limit);
        explanation.limit("throughput ratio", throughput_ratio);
        explanation.limit("throughput ratio limit", throughput_limit);
        if rate_limit > 0.0 && rate_difference > rate_limit {
            Some(Goal {
                from: rates.busiest,
                need: rates.share(settings),
                least: settings.min_unload_message,
                traffic: MessageAverages::rate,
            })
        } else if throughput_limit > 0.0 && throughput_ratio > throughput_limit {
            Some(Goal {
                from: throughputs.busiest,
                need: throughputs.share(settings),
                least: settings.min_unload_message_throughput,
                traffic: MessageAverages::throughput,
            })
        } else {
            None
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a fraction of a message or byte does not count")]
    fn pursue(data: &LoadData, goal: &Goal<'_>, settings: &Settings, plan: &mut Plan) -> BrokerRule {
        if goal.need < goal.least {
            return BrokerRule::TooLittle;
        }
        let Some(broker) = data.brokers.get(goal.from).filter(|broker| broker.local.bundles.len() > 1) else {
            return BrokerRule::SoleBundle;
        };
        let limit = usize::try_from(settings.max_unload_bundle_num_per_shedding).unwrap_or(usize::MAX);
        let mut left = goal.need;
        for candidate in candidates(data, goal.from, broker, goal.traffic, &mut plan.explanation) {
            let rule = if plan.moves.len() >= limit {
                BundleRule::LimitReached
            } else if left <= 0 {
                BundleRule::EnoughChosen
            } else if candidate.traffic > left as f64 {
                BundleRule::TooBig
            } else {
                BundleRule::Moves
            };
            plan.explanation.judge_bundle(candidate.bundle, goal.from, candidate.traffic, rule);
            if rule == BundleRule::Moves {
                left -= candidate.traffic as i64;
                plan.moves.push(shed(candidate.bundle, goal.from, None));
            }
        }
        if plan.moves.is_empty() { BrokerRule::NothingMovable } else { BrokerRule::Sheds }
    }
}

impl Shedder for UniformLoadShedder {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn decide(&mut self, data: &LoadData, settings: &Settings) -> Plan {
        let mut plan = Plan::empty(Explanation::of(self.name()));
        let Some(goal) = Self::goal(data, settings, &mut plan.explanation) else {
            return Plan::blocked(plan.explanation, Block::Balanced);
        };
        let rule = Self::pursue(data, &goal, settings, &mut plan);
        plan.explanation.judge_broker(goal.from, goal.need as f64, rule);
        if plan.moves.is_empty() {
            plan.explanation.blocked = Some(why_nothing(&plan.explanation));
        }
        plan
    }
}
