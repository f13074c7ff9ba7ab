//! Why nothing was done about a bundle.

use super::OwnBalancer;
use super::input::View;
use crate::bundle::special::Special;
use crate::constraints::Constraints;
use crate::explain::{BundleRule, Explanation};
use crate::names::BundleName;
use crate::planner::Outline;

/// A cycle that can be asked about a bundle.
pub(super) struct Judge<'a> {
    pub(super) balancer: &'a OwnBalancer,
    pub(super) view: &'a View,
    pub(super) outline: &'a Outline,
    pub(super) constraints: &'a Constraints<'a>,
}

impl Judge<'_> {
    /// Adds the verdict on a bundle, unless there is one, or its broker's or the cycle's says all.
    pub(super) fn judge(&self, bundle: &BundleName, explanation: &mut Explanation) {
        if explanation.bundle(bundle).is_some() {
            return;
        }
        let Some(slot) = self.balancer.slot_of(bundle) else { return };
        let Some(index) = self.view.slots.iter().position(|known| *known == slot) else { return };
        let planned = &self.view.input.bundles[index];
        let Some(host) = self.view.hosts.get(planned.owner as usize) else { return };
        let rule = self.rule(bundle, index);
        let broker = &self.balancer.brokers[*host as usize].id;
        explanation.judge_bundle(bundle, broker, planned.load.greatest(), rule);
    }

    fn rule(&self, bundle: &BundleName, index: usize) -> BundleRule {
        let input = &self.view.input;
        let planned = &input.bundles[index];
        let place = planned.owner as usize;
        let namespace = bundle.namespace();
        if planned.held {
            return if Special::of(namespace).is_some() {
                BundleRule::Pinned
            } else if self.constraints.settings.load_balancer_shedding_excluded_namespaces.contains(namespace) {
                BundleRule::ExcludedNamespace
            } else {
                BundleRule::RecentlyMoved
            };
        }
        let (before, _) = self.outline.loads[place];
        if before <= self.outline.target.max(input.brokers[place].tolerates) {
            return BundleRule::BrokerAtEase;
        }
        if planned.load.greatest() <= 0.0 {
            return BundleRule::NoTraffic;
        }
        let others = || (0..input.brokers.len()).filter(|other| *other != place);
        if !others().any(|other| input.allows(planned, other)) {
            return BundleRule::IsolationPolicy;
        }
        let fits =
            others().filter(|other| input.allows(planned, *other)).any(|other| {
                let share =
                    planned.load.0.iter().zip(input.brokers[other].capacity.0).map(|(load, capacity)| {
                        if *load <= 0.0 { 0.0 } else { f64::from(*load) / f64::from(capacity) }
                    });
                self.outline.loads[other].1 + share.fold(0.0, f64::max) <= self.outline.target
            });
        if !fits {
            BundleRule::TooBig
        } else if planned.group.is_some() {
            BundleRule::AntiAffinity
        } else {
            BundleRule::EnoughChosen
        }
    }
}
