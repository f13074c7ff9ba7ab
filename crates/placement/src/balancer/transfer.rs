//! The Extensible manager with `TransferShedder` as a profile.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::{Balancer, BrokerInfo, Manager, Measurement, Report, Reported, Reporter, SnapshotError};
use crate::bundle::BundleRange;
use crate::constraints::Constraints;
use crate::explain::{Move, Plan, Split};
use crate::extensible::{ClusterLoad, ClusterPolicies, TransferShedder, default_filters};
use crate::filter::{BrokerFacts, BrokerFilter, Cluster};
use crate::load::{BrokerLoadData, BundleStats, LoadSummary, TopBundles, TopBundlesFilter, report_due};
use crate::modular::place::RoundRobin;
use crate::names::{BrokerId, BundleName};
use crate::registry::ManagerKind;
use crate::settings::Settings;
use crate::split::{OwnedBundles, SplitDecider};

/// The Extensible manager: `TransferShedder`, `LeastResourceUsageWithWeight`, and brokers that split their own bundles in
/// the middle.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransferProfile;

impl Manager for TransferProfile {
    fn class_name(&self) -> &'static str {
        ManagerKind::Extensible.class_name()
    }

    fn balancer(&self) -> Box<dyn Balancer> {
        Box::new(TransferBalancer::default())
    }

    fn reporter(&self, broker: &BrokerId, _info: &BrokerInfo) -> Box<dyn Reporter> {
        Box::new(TransferReporter {
            broker: broker.clone(),
            load: BrokerLoadData::default(),
            last: None,
            splitter: SplitDecider::default(),
        })
    }
}

/// The leader of the Extensible manager.
pub struct TransferBalancer {
    state: State,
    filters: Vec<Box<dyn BrokerFilter>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    shedder: TransferShedder,
    turns: RoundRobin,
    loads: BTreeMap<BrokerId, BrokerLoadData>,
    top: BTreeMap<BrokerId, TopBundles>,
    members: BTreeMap<BrokerId, BrokerInfo>,
    owners: BTreeMap<BundleName, BrokerId>,
}

impl Default for TransferBalancer {
    fn default() -> Self {
        Self { state: State::default(), filters: default_filters() }
    }
}

impl Cluster for State {
    fn facts(&self, broker: &BrokerId) -> Option<BrokerFacts<'_>> {
        let info = self.members.get(broker)?;
        Some(BrokerFacts {
            load_manager_class: Some(ManagerKind::Extensible.class_name()),
            version: info.version.as_deref(),
            topics: self.loads.get(broker).map_or(0, |load| load.topics),
            incoming_topics: 0,
            persistent: info.persistent,
            non_persistent: info.non_persistent,
        })
    }
}

impl State {
    fn policies<'a>(
        &'a self,
        available: &'a [BrokerId],
        filters: &'a [Box<dyn BrokerFilter>],
        constraints: &'a Constraints<'_>,
    ) -> ClusterPolicies<'a> {
        ClusterPolicies {
            available,
            cluster: self,
            owners: &self.owners,
            non_persistent: constraints.non_persistent,
            isolation: constraints.isolation,
            anti_affinity: constraints.anti_affinity,
            domains: constraints.domains,
            filters,
            load_manager_class: constraints.load_manager_class,
            settings: constraints.settings,
        }
    }

    fn available(&self) -> Vec<BrokerId> {
        self.members.keys().cloned().collect()
    }
}

impl Balancer for TransferBalancer {
    fn name(&self) -> &str {
        "transfer-shedder"
    }

    fn broker_joined(&mut self, broker: &BrokerId, info: &BrokerInfo, _now: i64) {
        self.state.members.insert(broker.clone(), info.clone());
    }

    fn broker_left(&mut self, broker: &BrokerId, _now: i64) {
        self.state.members.remove(broker);
        self.state.loads.remove(broker);
        self.state.top.remove(broker);
    }

    fn owner(&mut self, bundle: &BundleName, owner: Option<&BrokerId>, _now: i64) {
        match owner {
            Some(owner) => drop(self.state.owners.insert(bundle.clone(), owner.clone())),
            None => drop(self.state.owners.remove(bundle)),
        }
    }

    fn report(&mut self, broker: &BrokerId, report: &Report, _settings: &Settings, _now: i64) {
        if let Report::Extensible { load, top } = report {
            if let Some(load) = load {
                self.state.loads.insert(broker.clone(), **load);
            }
            self.state.top.insert(broker.clone(), top.clone());
        }
    }

    fn decide(&mut self, constraints: &Constraints<'_>, now: i64, _rng: &mut dyn RngCore) -> Plan {
        let mut shedder = std::mem::take(&mut self.state.shedder);
        let members: BTreeSet<BrokerId> = self.state.members.keys().cloned().collect();
        let available = self.state.available();
        let policies = self.state.policies(&available, &self.filters, constraints);
        let load = ClusterLoad { loads: &self.state.loads, top_bundles: &self.state.top, available: Some(&members) };
        let plan = shedder.decide(&load, &policies, now, constraints.settings);
        self.state.shedder = shedder;
        plan
    }

    fn place(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        _now: i64,
        rng: &mut dyn RngCore,
    ) -> Option<BrokerId> {
        let mut turns = std::mem::take(&mut self.state.turns);
        let available = self.state.available();
        let policies = self.state.policies(&available, &self.filters, constraints);
        let (selection, _) = policies.select(bundle, &BTreeSet::new(), &self.state.loads, &mut turns, rng);
        self.state.turns = turns;
        selection.broker
    }

    fn finished(&mut self, done: &Move, succeeded: bool, now: i64) {
        if succeeded {
            self.state.shedder.recent().note(done.bundle.clone(), done.from.clone(), now);
        }
    }

    fn split(&mut self, parent: &BundleName, children: &[BundleName], _now: i64) {
        if let Some(owner) = self.state.owners.remove(parent) {
            self.state.owners.extend(children.iter().map(|child| (child.clone(), owner.clone())));
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        serde_json::to_vec(&self.state).unwrap_or_default()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        self.state =
            serde_json::from_slice(snapshot).map_err(|reason| SnapshotError::new("transfer-shedder", &reason))?;
        Ok(())
    }
}

/// A broker under the Extensible manager.
struct TransferReporter {
    broker: BrokerId,
    load: BrokerLoadData,
    /// What was last told of the load, and when.
    last: Option<(LoadSummary, i64)>,
    splitter: SplitDecider,
}

impl Reporter for TransferReporter {
    fn measure(&mut self, measured: &Measurement, settings: &Settings) -> Reported {
        let sum = |value: fn(&BundleStats) -> f64| measured.bundles.iter().map(|(_, stats)| value(stats)).sum();
        self.load.usage = measured.host;
        self.load.msg_rate_in = sum(|stats| stats.msg_rate_in);
        self.load.msg_rate_out = sum(|stats| stats.msg_rate_out);
        self.load.msg_throughput_in = sum(|stats| stats.msg_throughput_in);
        self.load.msg_throughput_out = sum(|stats| stats.msg_throughput_out);
        self.load.bundle_count = measured.bundles.len() as u64;
        self.load.topics = measured.bundles.iter().map(|(_, stats)| stats.topics).fold(0, u64::saturating_add);
        let history = settings.load_balancer_history_resource_percentage;
        self.load.refresh(&settings.weights(), history, measured.at);
        let now = LoadSummary::of_broker_load(&self.load);
        let is_due = self
            .last
            .as_ref()
            .is_none_or(|(last, at)| report_due(last, &now, measured.at.saturating_sub(*at), settings).is_some());
        let load = is_due.then(|| {
            self.last = Some((now, measured.at));
            self.load.reported_at = measured.at;
            Box::new(self.load)
        });
        let excluded = &settings.load_balancer_shedding_excluded_namespaces;
        // Which namespaces have policies is the leader's to know; it passes their bundles over.
        let filter = TopBundlesFilter { excluded, is_held: |_: &str| false };
        let count = settings.load_balancer_max_number_of_bundles_in_bundle_load_report;
        let bundles = measured.bundles.iter().map(|(name, stats)| (name, stats));
        let top = TopBundles::select(bundles.clone(), usize::try_from(count).unwrap_or(0), &filter);
        let plan = self.splitter.decide(bundles, &Own::of(measured), &BTreeSet::new(), settings);
        let splits = plan.splits.into_iter().map(|split| Split {
            at: vec![split.children[1].lower()],
            bundle: split.bundle,
            broker: self.broker.clone(),
        });
        Reported { report: Some(Report::Extensible { load, top }), splits: splits.collect() }
    }
}

/// A broker that owns what it measured and cuts in the middle.
struct Own<'a> {
    namespaces: &'a BTreeMap<String, usize>,
    counts: BTreeMap<&'a str, usize>,
}

impl<'a> Own<'a> {
    fn of(measured: &'a Measurement) -> Self {
        let mut counts = BTreeMap::new();
        for (bundle, _) in &measured.bundles {
            *counts.entry(bundle.namespace()).or_insert(0) += 1;
        }
        Self { namespaces: &measured.namespaces, counts }
    }
}

impl OwnedBundles for Own<'_> {
    fn is_owner(&self, _bundle: &BundleName) -> bool {
        true
    }

    fn bundle_count(&self, namespace: &str) -> Option<usize> {
        self.namespaces.get(namespace).or_else(|| self.counts.get(namespace)).copied()
    }

    fn boundaries(&self, _bundle: &BundleName, range: BundleRange) -> Option<Vec<u32>> {
        Some(range.middle().into_iter().collect())
    }
}
