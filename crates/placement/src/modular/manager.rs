//! What the leader of the Modular manager knows, and how it learns.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{Placement, RoundRobin};
use super::shed::Shedder;
use super::{BrokerData, LoadData, default_filters};
use crate::filter::BrokerFilter;
use crate::load::{BundleData, LocalBrokerData, TimeAverageBrokerData};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;
use crate::split::{HotBundle, find_hot_bundles};

/// How long, in milliseconds, a broker may report without a bundle that was assigned to it before the assignment is
/// taken for lost.
const OWNERSHIP_DEADLINE: i64 = 60_000;

/// The leader's state. It changes only by what it is told: reports, brokers that left, moves that were carried out.
pub struct ModularManager {
    pub(super) data: LoadData,
    pub(super) placement: Box<dyn Placement>,
    pub(super) shedder: Box<dyn Shedder>,
    pub(super) filters: Vec<Box<dyn BrokerFilter>>,
    pub(super) turns: RoundRobin,
    /// The broker of every bundle that was assigned but not reported, and since when, in milliseconds since 1970.
    pub(super) assigned: BTreeMap<BundleName, (BrokerId, i64)>,
    /// Traffic that has left each broker since its latest report, in bytes per second.
    pub(super) moved_out: BTreeMap<BrokerId, f64>,
}

impl ModularManager {
    /// A leader that knows nothing yet.
    #[must_use]
    pub fn new(placement: Box<dyn Placement>, shedder: Box<dyn Shedder>) -> Self {
        Self {
            data: LoadData::default(),
            placement,
            shedder,
            filters: default_filters(),
            turns: RoundRobin::default(),
            assigned: BTreeMap::new(),
            moved_out: BTreeMap::new(),
        }
    }

    /// Replaces the filters that candidates pass after the isolation policies.
    #[must_use]
    pub fn with_filters(mut self, filters: Vec<Box<dyn BrokerFilter>>) -> Self {
        self.filters = filters;
        self
    }

    /// What the leader knows.
    #[must_use]
    pub fn data(&self) -> &LoadData {
        &self.data
    }

    /// Takes in a broker's report, received at `now` (milliseconds since 1970).
    ///
    /// Every bundle in it gets one sample, unless the report was already known; the bundles of other brokers get none. A
    /// bundle not seen before starts with what `stored` holds of it.
    pub fn report(
        &mut self,
        id: &BrokerId,
        report: LocalBrokerData,
        stored: impl Fn(&BundleName) -> Option<BundleData>,
        now: i64,
        settings: &Settings,
    ) {
        let is_new = self.data.brokers.get(id).is_none_or(|known| known.local.last_update != report.last_update);
        if is_new {
            for (bundle, stats) in &report.last_stats {
                let data = self.data.bundles.entry(bundle.clone());
                data.or_insert_with(|| stored(bundle).unwrap_or_default()).add(stats);
            }
        }
        self.settle_assignments(id, &report, now, settings);
        self.moved_out.remove(id);
        let mean = self.mean_usage();
        let bundles = &self.data.bundles;
        let broker = self.data.brokers.entry(id.clone()).or_default();
        broker.averages = TimeAverageBrokerData::sum(report.last_stats.keys().map(|bundle| bundles.get(bundle)));
        broker.local = report;
        if is_new {
            smooth_usage(broker, mean, settings.load_balancer_history_resource_percentage);
        }
    }

    /// Forgets a broker that is gone, and what was assigned to it.
    pub fn broker_left(&mut self, id: &str) {
        self.data.brokers.remove(id);
        self.moved_out.remove(id);
        self.assigned.retain(|_, (broker, _)| &**broker != id);
    }

    /// Forgets the bundles that no broker reports, that are assigned to none and that were not shed a moment ago. Returns
    /// them, so that what is stored of them can be deleted.
    pub fn prune_bundles(&mut self) -> Vec<BundleName> {
        let served: BTreeSet<&BundleName> =
            self.data.brokers.values().flat_map(|broker| broker.local.last_stats.keys()).collect();
        let is_gone = |bundle: &&BundleName| {
            !served.contains(*bundle)
                && !self.assigned.contains_key(*bundle)
                && !self.data.recently_unloaded.contains_key(*bundle)
        };
        let gone: Vec<BundleName> = self.data.bundles.keys().filter(is_gone).cloned().collect();
        for bundle in &gone {
            self.data.bundles.remove(bundle);
        }
        gone
    }

    /// Notes that `bundle` was moved at `now`. Both brokers' smoothed usage follows at once by the share of traffic that
    /// moved; without that a slow average keeps calling the source overloaded long after it is not.
    pub fn moved(&mut self, bundle: &BundleName, from: &BrokerId, to: Option<&BrokerId>, now: i64) {
        self.data.recently_unloaded.insert(bundle.clone(), now);
        let share = self.take_out(bundle, from);
        let Some(usage) = self.data.brokers.get(from).and_then(|broker| broker.smoothed_usage) else { return };
        for (id, change) in [(Some(from), -usage * share), (to, usage * share)] {
            let broker = id.and_then(|id| self.data.brokers.get_mut(id));
            if let Some(smoothed) = broker.and_then(|broker| broker.smoothed_usage.as_mut()) {
                *smoothed = (*smoothed + change).max(0.0);
            }
        }
        self.shedder.moved(from, to, share);
    }

    /// Notes that an unload failed: what was assigned for it is free again.
    pub fn move_failed(&mut self, bundle: &BundleName) {
        self.unassign(bundle);
    }

    /// Notes that `bundle` is on its way to `broker`: by a decision of this leader, or because an operator named it.
    pub fn assign(&mut self, bundle: &BundleName, broker: &BrokerId, now: i64) {
        self.unassign(bundle);
        let data = self.data.bundles.get(bundle).copied().unwrap_or_default();
        if let Some(known) = self.data.brokers.get_mut(broker) {
            known.preallocated.insert(bundle.clone(), data);
        }
        self.assigned.insert(bundle.clone(), (broker.clone(), now));
    }

    /// The bundles that are too big; see [`find_hot_bundles`]. There have to be two brokers.
    #[must_use]
    pub fn hot_bundles(&self, bundle_count: impl Fn(&str) -> Option<usize>, settings: &Settings) -> Vec<HotBundle> {
        if self.data.brokers.len() < 2 {
            return Vec::new();
        }
        let reported =
            self.data.brokers.iter().flat_map(|(id, broker)| {
                broker.local.last_stats.iter().map(move |(bundle, stats)| (id, bundle, stats))
            });
        find_hot_bundles(reported, &self.data.bundles, bundle_count, settings)
    }

    /// The bundles whose averages are worth storing: the biggest
    /// `loadBalancerMaxNumberOfBundlesInBundleLoadReport` for each broker, or all if that is not positive.
    #[must_use]
    pub fn bundles_to_store(&self, settings: &Settings) -> Vec<(&BundleName, &BundleData)> {
        let excluded = &settings.load_balancer_shedding_excluded_namespaces;
        let mut bundles: Vec<(&BundleName, &BundleData)> =
            self.data.bundles.iter().filter(|(bundle, _)| !excluded.contains(bundle.namespace())).collect();
        let each = usize::try_from(settings.load_balancer_max_number_of_bundles_in_bundle_load_report).unwrap_or(0);
        if each > 0 {
            bundles.sort_by(|(_, a), (_, b)| b.cmp_size(a));
            bundles.truncate(each.saturating_mul(self.data.brokers.len()));
        }
        bundles
    }

    /// Forgets a bundle that was split, until its parts are reported.
    pub fn split(&mut self, parent: &BundleName) {
        self.unassign(parent);
        self.data.bundles.remove(parent);
        self.data.recently_unloaded.remove(parent);
        for broker in self.data.brokers.values_mut() {
            broker.local.last_stats.remove(parent);
            broker.local.bundles.remove(parent);
        }
    }

    /// The part, at most 1, that a bundle is of the traffic a broker still has; the bundle then no longer counts there.
    fn take_out(&mut self, bundle: &BundleName, broker: &BrokerId) -> f64 {
        let reported = self.data.brokers.get(broker).map_or(0.0, |broker| broker.local.throughput());
        let part = self.data.bundles.get(bundle).map_or(0.0, |data| data.short_term_data.throughput());
        let moved_out = self.moved_out.entry(broker.clone()).or_insert(0.0);
        let left = reported - *moved_out;
        *moved_out += part;
        if left > 0.0 { (part / left).min(1.0) } else { 0.0 }
    }

    fn mean_usage(&self) -> Option<f64> {
        let known: Vec<f64> = self.data.brokers.values().filter_map(|broker| broker.smoothed_usage).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }

    /// Drops assignments that the report of `id` confirms, denies or has outlived.
    fn settle_assignments(&mut self, id: &BrokerId, report: &LocalBrokerData, now: i64, settings: &Settings) {
        let max_interval = settings.load_balancer_report_update_max_interval_minutes.saturating_mul(2 * 60_000);
        let lifetime = i64::try_from(max_interval).unwrap_or(i64::MAX);
        let is_settled = |bundle: &BundleName, broker: &BrokerId, since: i64| {
            let age = now.saturating_sub(since);
            let reported = broker == id && report.bundles.contains(bundle);
            let denied = broker == id && age > OWNERSHIP_DEADLINE;
            reported || denied || age > lifetime
        };
        let settled: Vec<BundleName> = self
            .assigned
            .iter()
            .filter(|(bundle, (broker, since))| is_settled(bundle, broker, *since))
            .map(|(bundle, _)| bundle.clone())
            .collect();
        for bundle in settled {
            self.unassign(&bundle);
        }
    }

    pub(super) fn unassign(&mut self, bundle: &BundleName) {
        if let Some((broker, _)) = self.assigned.remove(bundle)
            && let Some(known) = self.data.brokers.get_mut(&broker)
        {
            known.preallocated.remove(bundle);
        }
    }
}

/// Takes a broker's latest usage into its moving average. The first one is taken to be at least the mean of the others,
/// so that a broker that has just started does not look empty.
fn smooth_usage(broker: &mut BrokerData, mean: Option<f64>, history: f64) {
    let usage = broker.local.usage.max_of_five();
    broker.smoothed_usage = Some(match broker.smoothed_usage {
        Some(smoothed) => smoothed * history + (1.0 - history) * usage,
        None => mean.map_or(usage, |mean| usage.max(mean)),
    });
}
