//! Sheds from brokers above an absolute threshold.

use super::threshold::why_nothing;
use super::{Shedder, shed_throughput};
use crate::explain::{BrokerRule, Explanation, Plan};
use crate::modular::LoadData;
use crate::settings::Settings;

/// More than the excess is shed, so that the broker ends below the threshold.
const MARGIN: f64 = 0.05;

/// Pulsar's `OverloadShedder`: relieves each broker whose usage reaches `loadBalancerBrokerOverloadedThresholdPercentage`.
#[derive(Clone, Copy, Debug, Default)]
pub struct OverloadShedder;

impl Shedder for OverloadShedder {
    fn name(&self) -> &'static str {
        "overload"
    }

    fn decide(&mut self, data: &LoadData, settings: &Settings) -> Plan {
        let mut plan = Plan::empty(Explanation::of(self.name()));
        let threshold = settings.overload_threshold();
        let weights = settings.weights();
        plan.explanation.limit("overload threshold", threshold);
        for (id, broker) in &data.brokers {
            let usage = broker.usage(&weights);
            let rule = if usage < threshold {
                BrokerRule::WithinLimits
            } else if broker.local.bundles.is_empty() {
                BrokerRule::NoBundles
            } else if broker.local.bundles.len() == 1 {
                BrokerRule::SoleBundle
            } else {
                let need = (usage - threshold + MARGIN) * broker.local.throughput();
                if shed_throughput(data, id, broker, need, &mut plan) {
                    BrokerRule::Sheds
                } else {
                    BrokerRule::NothingMovable
                }
            };
            plan.explanation.judge_broker(id, usage, rule);
        }
        if plan.moves.is_empty() {
            plan.explanation.blocked = Some(why_nothing(&plan.explanation));
        }
        plan
    }
}
