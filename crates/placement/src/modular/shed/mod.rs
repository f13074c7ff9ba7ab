//! Shedders: which bundles have to leave their broker.

mod avg;
mod overload;
mod threshold;
mod uniform;

pub use avg::{AvgShedder, Hits};
pub use overload::OverloadShedder;
pub use threshold::ThresholdShedder;
pub use uniform::UniformLoadShedder;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BrokerData, LoadData};
use crate::bundle::special::Special;
use crate::explain::{BundleRule, Explanation, Move, MoveReason, Plan};
use crate::load::MessageAverages;
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// Decides what to shed. The state a shedder keeps between cycles is its own; cycles with the same state and inputs give
/// the same plan.
pub trait Shedder: Send {
    /// The short name in settings and explanations.
    fn name(&self) -> &'static str;

    /// One cycle. Brokers that are not in `data` are forgotten.
    fn decide(&mut self, data: &LoadData, settings: &Settings) -> Plan;

    /// What the shedder remembers between cycles, for a record.
    fn state(&self) -> Value {
        Value::Null
    }

    /// Takes up where a shedder with this state was.
    ///
    /// # Errors
    /// When the state is not one that [`Shedder::state`] of this shedder gave.
    fn restore(&mut self, _state: &Value) -> Result<(), serde_json::Error> {
        Ok(())
    }

    /// Hears that `share` of the traffic of `from` was moved to `to`.
    fn moved(&mut self, _from: &BrokerId, _to: Option<&BrokerId>, _share: f64) {}
}

/// A bundle that may be shed, with its traffic in the unit that is compared.
struct Candidate<'a> {
    bundle: &'a BundleName,
    traffic: f64,
}

/// The bundles of a broker that may be shed, busiest first; equal ones by name. The others get their verdict here.
fn candidates<'a>(
    data: &'a LoadData,
    id: &BrokerId,
    broker: &'a BrokerData,
    traffic: impl Fn(&MessageAverages) -> f64,
    explanation: &mut Explanation,
) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    for bundle in &broker.local.bundles {
        let Some(averages) = data.bundles.get(bundle) else {
            explanation.judge_bundle(bundle, id, 0.0, BundleRule::NoStatistics);
            continue;
        };
        let traffic = traffic(&averages.short_term_data);
        if Special::is_pinned(bundle.namespace()) {
            explanation.judge_bundle(bundle, id, traffic, BundleRule::Pinned);
        } else if data.recently_unloaded.contains_key(bundle) {
            explanation.judge_bundle(bundle, id, traffic, BundleRule::RecentlyMoved);
        } else {
            candidates.push(Candidate { bundle, traffic });
        }
    }
    candidates.sort_by(|a, b| b.traffic.total_cmp(&a.traffic));
    candidates
}

/// Sheds the busiest bundles of a broker until `need` bytes per second are chosen, at least one. Returns whether any was.
fn shed_throughput(data: &LoadData, id: &BrokerId, broker: &BrokerData, need: f64, plan: &mut Plan) -> bool {
    let mut chosen = 0.0;
    let mut any = false;
    for candidate in candidates(data, id, broker, MessageAverages::throughput, &mut plan.explanation) {
        let rule = if any && chosen >= need { BundleRule::EnoughChosen } else { BundleRule::Moves };
        plan.explanation.judge_bundle(candidate.bundle, id, candidate.traffic, rule);
        if rule == BundleRule::Moves {
            chosen += candidate.traffic;
            any = true;
            plan.moves.push(shed(candidate.bundle, id, None));
        }
    }
    any
}

fn shed(bundle: &BundleName, from: &BrokerId, to: Option<&BrokerId>) -> Move {
    Move { bundle: bundle.clone(), from: from.clone(), to: to.cloned(), reason: MoveReason::Overloaded }
}

/// A moving average of each broker's weighted usage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SmoothedUsage(BTreeMap<BrokerId, f64>);

impl SmoothedUsage {
    /// Takes in one sample of every broker and forgets the others. Returns the mean.
    fn add(&mut self, data: &LoadData, settings: &Settings) -> f64 {
        let weights = settings.weights();
        let history = settings.load_balancer_history_resource_percentage;
        self.0.retain(|broker, _| data.brokers.contains_key(broker));
        for (id, broker) in &data.brokers {
            let usage = broker.usage(&weights);
            self.0
                .entry(id.clone())
                .and_modify(|smoothed| *smoothed = *smoothed * history + (1.0 - history) * usage)
                .or_insert(usage);
        }
        if self.0.is_empty() { 0.0 } else { self.0.values().sum::<f64>() / self.0.len() as f64 }
    }

    /// Moves the history of `share` of the load of `from` to `to`.
    fn rebase(&mut self, from: &BrokerId, to: Option<&BrokerId>, share: f64) {
        let Some(source) = self.0.get_mut(from) else { return };
        let moved = *source * share;
        *source -= moved;
        if let Some(destination) = to.and_then(|to| self.0.get_mut(to)) {
            *destination += moved;
        }
    }

    fn of(&self, broker: &BrokerId) -> f64 {
        self.0.get(broker).copied().unwrap_or(0.0)
    }
}
