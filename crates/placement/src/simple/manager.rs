//! What a broker of the Simple manager knows of the others, and how it decides.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::{HostedBundles, QuotaBook, QuotaInput, Ranked, Ranking, Strategy, pick, shed};
use crate::constraints::Constraints;
use crate::explain::Plan;
use crate::filter::{BrokerFacts, BrokerFilter, Cluster, FilterRequest, IsolationFilter, keep_least};
use crate::load::{LoadReport, ResourceQuota};
use crate::names::{BrokerId, BundleName};

/// The state of the Simple manager. It changes only by what it is told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SimpleManager {
    strategy: Strategy,
    brokers: BTreeMap<BrokerId, Known>,
    quotas: QuotaBook,
    /// Timestamp of the newest report, in milliseconds since 1970.
    newest: Option<i64>,
    recently_unloaded: BTreeMap<BundleName, i64>,
    choices: usize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Known {
    report: LoadReport,
    /// Bundles assigned to the broker that it has not reported.
    preallocated: BTreeSet<BundleName>,
}

impl Cluster for SimpleManager {
    fn facts(&self, broker: &BrokerId) -> Option<BrokerFacts<'_>> {
        let report = &self.brokers.get(broker)?.report;
        Some(BrokerFacts {
            load_manager_class: report.load_manager_class_name.as_deref(),
            version: report.broker_version_string.as_deref(),
            topics: report.num_topics,
            incoming_topics: 0,
            persistent: report.persistent_topics_enabled,
            non_persistent: report.non_persistent_topics_enabled,
        })
    }
}

impl SimpleManager {
    /// A manager that knows nothing yet.
    #[must_use]
    pub fn new(strategy: Strategy, quotas: QuotaBook) -> Self {
        Self { strategy, quotas, ..Self::default() }
    }

    /// The quotas, to be stored.
    #[must_use]
    pub fn quotas(&self) -> &QuotaBook {
        &self.quotas
    }

    /// Sets the strategy (`/loadbalance/settings/strategy`).
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Takes in a broker's report; quotas follow what all brokers reported.
    pub fn report(&mut self, id: &BrokerId, report: LoadReport) {
        let known = self.brokers.entry(id.clone()).or_default();
        known.preallocated.retain(|bundle| !report.bundle_stats.contains_key(bundle));
        let timestamp = report.timestamp;
        known.report = report;
        let newest = self.newest.map_or(timestamp, |newest| newest.max(timestamp));
        let elapsed = newest.saturating_sub(self.newest.unwrap_or(newest));
        self.newest = Some(newest);
        let stats = self.brokers.values().flat_map(|known| &known.report.bundle_stats);
        let stats = stats.map(|(bundle, stats)| (bundle.clone(), *stats)).collect();
        let used = |usage: fn(&LoadReport) -> f64| self.brokers.values().map(|known| usage(&known.report)).sum();
        let cpu = used(|report| report.system_resource_usage.cpu.usage);
        let memory = used(|report| report.system_resource_usage.memory.usage);
        self.quotas.update(&QuotaInput { stats: &stats, cpu, memory, elapsed });
    }

    /// Forgets a broker that is gone, and what was assigned to it.
    pub fn broker_left(&mut self, id: &str) {
        self.brokers.remove(id);
    }

    /// The ranking of a broker.
    #[must_use]
    pub fn ranking(&self, id: &str) -> Option<Ranking> {
        self.brokers.get(id).map(|known| self.rank(known))
    }

    /// Chooses a broker for an unowned bundle and notes that the bundle is on its way there. `None` if nobody may take it.
    pub fn select(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        rng: &mut dyn RngCore,
    ) -> Option<BrokerId> {
        let assigned = self.brokers.iter().find(|(_, known)| known.preallocated.contains(bundle));
        if let Some((id, _)) = assigned {
            return Some(id.clone());
        }
        let candidates: Vec<Ranked> = self
            .candidates(bundle, constraints)
            .into_iter()
            .filter_map(|broker| {
                let known = self.brokers.get(&broker)?;
                let is_idle = known.report.bundle_stats.is_empty() && known.preallocated.is_empty();
                Some(Ranked { ranking: self.rank(known), broker, is_idle })
            })
            .collect();
        let each = &self.quotas.default_quota;
        let chosen = pick(&candidates, self.strategy, each, self.choices, constraints.settings, rng)?;
        let broker = chosen.broker.clone();
        self.choices = self.choices.wrapping_add(1);
        self.brokers.get_mut(&broker)?.preallocated.insert(bundle.clone());
        Some(broker)
    }

    /// One cycle of shedding at `now`, in milliseconds since 1970. A plan that is carried out is noted with
    /// [`SimpleManager::moved`].
    pub fn shed(&mut self, constraints: &Constraints<'_>, now: i64) -> Plan {
        let settings = constraints.settings;
        let grace = settings.load_balancer_shedding_grace_period_minutes.saturating_mul(60_000);
        self.recently_unloaded.retain(|_, unloaded| now.saturating_sub(*unloaded) <= grace);
        let hosts: Vec<HostedBundles<'_>> = self
            .brokers
            .iter()
            .map(|(broker, known)| HostedBundles {
                broker,
                usage: known.report.system_resource_usage,
                ranking: self.rank(known),
                stats: &known.report.bundle_stats,
            })
            .collect();
        let may_take = |bundle: &BundleName, broker: &BrokerId| self.allowed(bundle, constraints).contains(broker);
        shed(&hosts, &self.recently_unloaded, &may_take, settings)
    }

    /// Notes that `bundle` was unloaded at `now`.
    pub fn moved(&mut self, bundle: &BundleName, now: i64) {
        self.recently_unloaded.insert(bundle.clone(), now);
    }

    /// Allowed by the isolation policies, and with the fewest bundles of the namespace.
    fn candidates(&self, bundle: &BundleName, constraints: &Constraints<'_>) -> Vec<BrokerId> {
        let mut candidates = self.allowed(bundle, constraints);
        keep_least(&mut candidates, &self.namespace_bundles(bundle.namespace()));
        candidates
    }

    fn allowed(&self, bundle: &BundleName, constraints: &Constraints<'_>) -> Vec<BrokerId> {
        let request = FilterRequest {
            bundle,
            non_persistent: constraints.non_persistent.contains(bundle),
            cluster: self,
            isolation: constraints.isolation,
            group_counts: None,
            domains: None,
            namespace_bundles: &BTreeMap::new(),
            load_manager_class: constraints.load_manager_class,
            settings: constraints.settings,
        };
        let mut allowed = self.brokers.keys().cloned().collect();
        match IsolationFilter.apply(&request, &mut allowed) {
            Ok(()) => allowed,
            Err(_) => Vec::new(),
        }
    }

    fn namespace_bundles(&self, namespace: &str) -> BTreeMap<BrokerId, u32> {
        let count = |known: &Known| {
            let served = known.report.bundle_stats.keys().chain(&known.preallocated);
            u32::try_from(served.filter(|bundle| bundle.namespace() == namespace).count()).unwrap_or(u32::MAX)
        };
        self.brokers.iter().map(|(id, known)| (id.clone(), count(known))).collect()
    }

    fn rank(&self, known: &Known) -> Ranking {
        let total = |bundles: &mut dyn Iterator<Item = &BundleName>| {
            bundles.fold(ResourceQuota::ZERO, |sum, bundle| sum.plus(self.quotas.quota(bundle)))
        };
        let allocated = total(&mut known.report.bundle_stats.keys());
        let preallocated = total(&mut known.preallocated.iter());
        Ranking::new(known.report.system_resource_usage, self.quotas.cpu_factor, &allocated, &preallocated)
    }
}
