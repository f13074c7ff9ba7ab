//! Sheds from brokers well above the average.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Shedder, SmoothedUsage, shed_throughput};
use crate::explain::{Block, BrokerRule, Explanation, Plan};
use crate::load::MIB;
use crate::modular::LoadData;
use crate::names::BrokerId;
use crate::settings::Settings;

/// More than the excess is shed, so that the broker ends below the threshold.
const MARGIN: f64 = 0.05;

/// Pulsar's `ThresholdShedder`: compares a moving average of each broker's usage with the mean of all.
#[derive(Clone, Debug, Default)]
pub struct ThresholdShedder {
    smoothed: SmoothedUsage,
}

impl ThresholdShedder {
    /// The moving average of each broker's usage, 1 being 100 %.
    #[must_use]
    pub fn smoothed_usage(&self) -> &BTreeMap<BrokerId, f64> {
        &self.smoothed.0
    }

    fn shed_above(&self, data: &LoadData, average: f64, settings: &Settings, plan: &mut Plan) {
        let threshold = settings.load_balancer_broker_threshold_shedder_percentage / 100.0;
        let least = settings.load_balancer_bundle_unload_min_throughput_threshold * MIB;
        for (id, broker) in &data.brokers {
            let usage = self.smoothed.of(id);
            if usage < average + threshold {
                plan.explanation.judge_broker(id, usage, BrokerRule::WithinLimits);
                continue;
            }
            let excess = usage - average - threshold + MARGIN;
            let need = excess * broker.local.throughput();
            let rule = if need < least {
                BrokerRule::TooLittle
            } else if broker.local.bundles.len() > 1 {
                if shed_throughput(data, id, broker, need, plan) {
                    BrokerRule::Sheds
                } else {
                    BrokerRule::NothingMovable
                }
            } else if broker.local.bundles.is_empty() {
                BrokerRule::NoBundles
            } else {
                BrokerRule::SoleBundle
            };
            plan.explanation.judge_broker(id, usage, rule);
        }
    }

    /// When nobody is far above the average but somebody far below: relieves the busiest broker a little.
    fn shed_for_idle(&mut self, data: &LoadData, settings: &Settings, plan: &mut Plan) {
        let average = self.smoothed.add(data, settings);
        let threshold = settings.load_balancer_broker_threshold_shedder_percentage / 100.0;
        let lower = average - threshold;
        let mut busiest: Option<(&BrokerId, f64)> = None;
        let mut anybody_idle = false;
        for (id, broker) in &data.brokers {
            let usage = self.smoothed.of(id);
            if usage < lower {
                anybody_idle = true;
            } else if broker.local.bundles.len() > 1 && busiest.is_none_or(|(_, most)| usage > most) {
                busiest = Some((id, usage));
            }
        }
        let (Some((id, usage)), true) = (busiest, anybody_idle) else { return };
        let Some(broker) = data.brokers.get(id) else { return };
        let need = broker.local.throughput() * threshold * 0.5;
        let least = settings.load_balancer_bundle_unload_min_throughput_threshold * MIB;
        let rule = if need < least {
            BrokerRule::TooLittle
        } else if shed_throughput(data, id, broker, need, plan) {
            BrokerRule::Sheds
        } else {
            BrokerRule::NothingMovable
        };
        plan.explanation.brokers.retain(|verdict| verdict.broker != *id);
        plan.explanation.judge_broker(id, usage, rule);
    }
}

impl Shedder for ThresholdShedder {
    fn name(&self) -> &'static str {
        "threshold"
    }

    fn decide(&mut self, data: &LoadData, settings: &Settings) -> Plan {
        let mut plan = Plan::empty(Explanation::of(self.name()));
        let average = self.smoothed.add(data, settings);
        plan.explanation.limit("average", average);
        plan.explanation.limit("threshold", settings.load_balancer_broker_threshold_shedder_percentage / 100.0);
        if average == 0.0 {
            return Plan::blocked(plan.explanation, Block::NoUsage);
        }
        self.shed_above(data, average, settings, &mut plan);
        if plan.moves.is_empty() && settings.lower_boundary_shedding_enabled {
            self.shed_for_idle(data, settings, &mut plan);
        }
        if plan.moves.is_empty() {
            plan.explanation.blocked = Some(why_nothing(&plan.explanation));
        }
        plan
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.smoothed).unwrap_or_default()
    }

    fn restore(&mut self, state: &Value) -> Result<(), serde_json::Error> {
        self.smoothed = SmoothedUsage::deserialize(state)?;
        Ok(())
    }

    fn moved(&mut self, from: &BrokerId, to: Option<&BrokerId>, share: f64) {
        self.smoothed.rebase(from, to, share);
    }
}

/// What kept a cycle without moves from having any.
pub(super) fn why_nothing(explanation: &Explanation) -> Block {
    let has = |rule: BrokerRule| explanation.brokers.iter().any(|verdict| verdict.rule == rule);
    if has(BrokerRule::NothingMovable) || has(BrokerRule::SoleBundle) || has(BrokerRule::NoBundles) {
        Block::NoBundles
    } else if has(BrokerRule::TooLittle) {
        Block::TooLittle
    } else {
        Block::Balanced
    }
}
