//! One cycle of shedding: what has to leave, and where it goes.

use std::collections::BTreeMap;

use rand::RngCore;

use super::ModularManager;
use crate::constraints::Constraints;
use crate::explain::{Block, BundleRule, Explanation, Move, Plan, Projection};
use crate::filter::{Cluster, count_namespaces, may_unload};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

impl ModularManager {
    /// Decides what to shed and where it goes. Destinations are chosen before anything is unloaded, and a bundle that
    /// would come back stays where it is (apache/pulsar#20822).
    ///
    /// Whoever carries the plan out tells [`ModularManager::moved`] of each move that succeeded and
    /// [`ModularManager::move_failed`] of each that did not.
    pub fn shed(&mut self, constraints: &Constraints<'_>, now: i64, rng: &mut dyn RngCore) -> Plan {
        let settings = constraints.settings;
        if self.data.brokers.len() < 2 {
            return Plan::blocked(Explanation::of(self.shedder.name()), Block::TooFewBrokers);
        }
        let grace = settings.load_balancer_shedding_grace_period_minutes.saturating_mul(60_000);
        self.data.recently_unloaded.retain(|_, unloaded| now.saturating_sub(*unloaded) <= grace);
        let Plan { moves, mut explanation, .. } = self.shedder.decide(&self.data, settings);
        self.placement.expect(&moves);
        let mut kept = Vec::with_capacity(moves.len());
        for proposed in moves {
            match self.destination(&proposed, constraints, rng) {
                Ok(to) => {
                    self.assign(&proposed.bundle, &to, now);
                    kept.push(Move { to: Some(to), ..proposed });
                }
                Err(rule) => {
                    let verdict = explanation.bundles.iter_mut().find(|verdict| verdict.bundle == proposed.bundle);
                    if let Some(verdict) = verdict {
                        verdict.rule = rule;
                    }
                }
            }
        }
        if kept.is_empty() && explanation.blocked.is_none() {
            explanation.blocked = Some(Block::NoBundles);
        }
        explanation.projected = self.project(&kept, settings);
        Plan { moves: kept, explanation, ..Plan::default() }
    }

    /// What `moves` make of the usage of the brokers they concern.
    fn project(&self, moves: &[Move], settings: &Settings) -> Vec<Projection> {
        let weights = settings.weights();
        let mut projected: BTreeMap<&BrokerId, Projection> = BTreeMap::new();
        for m in moves {
            let Some(source) = self.data.brokers.get(&m.from) else { continue };
            let traffic = self.data.bundles.get(&m.bundle).map_or(0.0, |data| data.short_term_data.throughput());
            let total = source.local.throughput();
            let moved = if total > 0.0 { source.usage(&weights) * (traffic / total).min(1.0) } else { 0.0 };
            for (broker, change) in [(Some(&m.from), -moved), (m.to.as_ref(), moved)] {
                let Some((id, data)) = broker.and_then(|id| self.data.brokers.get_key_value(id)) else { continue };
                let before = data.usage(&weights);
                let entry = projected.entry(id);
                entry.or_insert_with(|| Projection { broker: id.clone(), before, after: before }).after += change;
            }
        }
        projected.into_values().collect()
    }

    fn destination(
        &mut self,
        proposed: &Move,
        constraints: &Constraints<'_>,
        rng: &mut dyn RngCore,
    ) -> Result<BrokerId, BundleRule> {
        let (bundle, from) = (&proposed.bundle, &proposed.from);
        if constraints.settings.load_balancer_shedding_excluded_namespaces.contains(bundle.namespace()) {
            return Err(BundleRule::ExcludedNamespace);
        }
        let allowed = self.allowed(bundle, constraints);
        if !allowed.iter().any(|broker| broker != from) {
            return Err(BundleRule::IsolationPolicy);
        }
        let counts = count_namespaces(bundle, constraints.anti_affinity, self.data.placed());
        if !may_unload(counts.as_ref(), from, &allowed) {
            return Err(BundleRule::AntiAffinity);
        }
        let chosen = self.choose(bundle, constraints, rng).selection.broker;
        chosen.filter(|to| to != from).ok_or(BundleRule::NoDestination)
    }

    /// The brokers that the isolation policies allow for a bundle.
    fn allowed(&self, bundle: &BundleName, constraints: &Constraints<'_>) -> Vec<BrokerId> {
        let isolation = constraints.isolation;
        let non_persistent = constraints.non_persistent.contains(bundle);
        let serves_kind = |broker: &BrokerId| {
            let facts = self.data.facts(broker).unwrap_or_default();
            if non_persistent { facts.non_persistent } else { facts.persistent }
        };
        let all = self.data.brokers.keys();
        match isolation.of(bundle.namespace()) {
            Some(policy) => all
                .filter(|broker| policy.is_primary(broker.host()) || policy.is_secondary(broker.host()))
                .cloned()
                .collect(),
            None => all.filter(|broker| isolation.is_shared(broker.host()) && serves_kind(broker)).cloned().collect(),
        }
    }
}
