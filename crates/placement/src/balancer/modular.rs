//! The Modular manager as a profile.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::{Balancer, BrokerInfo, Manager, Measurement, Report, Reported, Reporter, SnapshotError};
use crate::constraints::Constraints;
use crate::explain::{Move, Plan, Split};
use crate::load::{LoadSummary, LocalBrokerData, report_due};
use crate::modular::place::Placement;
use crate::modular::shed::Shedder;
use crate::modular::{ManagerState, ModularManager};
use crate::names::{BrokerId, BundleName};
use crate::registry::ManagerKind;
use crate::settings::Settings;

type Make<T> = Arc<dyn Fn() -> Box<T> + Send + Sync>;

/// The Modular manager with a placement, a shedder, and `BundleSplitterTask` cutting bundles in the middle.
#[derive(Clone)]
pub struct ModularProfile {
    placement: Make<dyn Placement>,
    shedder: Make<dyn Shedder>,
}

impl ModularProfile {
    /// With these policies.
    pub fn new(
        placement: impl Fn() -> Box<dyn Placement> + Send + Sync + 'static,
        shedder: impl Fn() -> Box<dyn Shedder> + Send + Sync + 'static,
    ) -> Self {
        Self { placement: Arc::new(placement), shedder: Arc::new(shedder) }
    }
}

impl Manager for ModularProfile {
    fn class_name(&self) -> &'static str {
        ManagerKind::Modular.class_name()
    }

    fn balancer(&self) -> Box<dyn Balancer> {
        Box::new(ModularBalancer::new((self.placement)(), (self.shedder)()))
    }

    fn reporter(&self, broker: &BrokerId, info: &BrokerInfo) -> Box<dyn Reporter> {
        Box::new(ModularReporter { broker: broker.clone(), info: info.clone(), last: None })
    }
}

/// The leader of the Modular manager.
pub struct ModularBalancer {
    name: &'static str,
    manager: ModularManager,
    /// How many bundles each namespace has.
    bundle_counts: BTreeMap<String, usize>,
    owners: BTreeMap<BundleName, BrokerId>,
}

#[derive(Serialize, Deserialize)]
struct State {
    manager: ManagerState,
    owners: BTreeMap<BundleName, BrokerId>,
}

impl ModularBalancer {
    /// A leader that knows nothing yet.
    #[must_use]
    pub fn new(placement: Box<dyn Placement>, shedder: Box<dyn Shedder>) -> Self {
        let name = shedder.name();
        let manager = ModularManager::new(placement, shedder);
        Self { name, manager, bundle_counts: BTreeMap::new(), owners: BTreeMap::new() }
    }

    fn count(&mut self, bundle: &BundleName, present: bool) {
        let namespace = bundle.namespace();
        match self.bundle_counts.get_mut(namespace) {
            Some(count) => *count = if present { *count + 1 } else { count.saturating_sub(1) },
            None => drop(self.bundle_counts.insert(namespace.to_owned(), usize::from(present))),
        }
    }

    fn splits(&mut self, settings: &Settings) -> Vec<Split> {
        let hot = self.manager.hot_bundles(|namespace| self.bundle_counts.get(namespace).copied(), settings);
        let cut = |bundle: &BundleName| bundle.range().ok().and_then(crate::bundle::BundleRange::middle);
        hot.into_iter()
            .filter_map(|hot| Some(Split { at: vec![cut(&hot.bundle)?], bundle: hot.bundle, broker: hot.broker }))
            .collect()
    }
}

impl Balancer for ModularBalancer {
    fn name(&self) -> &str {
        self.name
    }

    fn broker_joined(&mut self, _broker: &BrokerId, _info: &BrokerInfo, _now: i64) {
        // A broker counts from its first report, which carries the same facts.
    }

    fn broker_left(&mut self, broker: &BrokerId, _now: i64) {
        self.manager.broker_left(broker);
    }

    fn owner(&mut self, bundle: &BundleName, owner: Option<&BrokerId>, _now: i64) {
        // A bundle that is between owners still exists.
        if let Some(owner) = owner
            && self.owners.insert(bundle.clone(), owner.clone()).is_none()
        {
            self.count(bundle, true);
        }
    }

    fn report(&mut self, broker: &BrokerId, report: &Report, settings: &Settings, now: i64) {
        if let Report::Modular(report) = report {
            self.manager.report(broker, (**report).clone(), |_| None, now, settings);
        }
    }

    fn decide(&mut self, constraints: &Constraints<'_>, now: i64, rng: &mut dyn RngCore) -> Plan {
        self.manager.prune_bundles();
        let mut plan = self.manager.shed(constraints, now, rng);
        let moving: Vec<&BundleName> = plan.moves.iter().map(|m| &m.bundle).collect();
        let mut splits = self.splits(constraints.settings);
        splits.retain(|split| !moving.contains(&&split.bundle));
        plan.splits = splits;
        plan
    }

    fn place(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        now: i64,
        rng: &mut dyn RngCore,
    ) -> Option<BrokerId> {
        self.manager.select(bundle, constraints, now, rng).selection.broker
    }

    fn finished(&mut self, done: &Move, succeeded: bool, now: i64) {
        if succeeded {
            self.manager.moved(&done.bundle, &done.from, done.to.as_ref(), now);
        } else {
            self.manager.move_failed(&done.bundle);
        }
    }

    fn split(&mut self, parent: &BundleName, children: &[BundleName], _now: i64) {
        self.manager.split(parent);
        let Some(owner) = self.owners.remove(parent) else { return };
        self.count(parent, false);
        for child in children {
            self.owners.insert(child.clone(), owner.clone());
            self.count(child, true);
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        let state = State { manager: self.manager.state(), owners: self.owners.clone() };
        serde_json::to_vec(&state).unwrap_or_default()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let refused = |reason: serde_json::Error| SnapshotError::new(self.name, &reason);
        let state: State = serde_json::from_slice(snapshot).map_err(refused)?;
        self.manager.restore(state.manager).map_err(|reason| SnapshotError::new(self.name, &reason))?;
        self.owners = state.owners;
        self.bundle_counts.clear();
        let bundles: Vec<BundleName> = self.owners.keys().cloned().collect();
        bundles.iter().for_each(|bundle| self.count(bundle, true));
        Ok(())
    }
}

/// A broker under the Modular manager.
struct ModularReporter {
    broker: BrokerId,
    info: BrokerInfo,
    /// What was last told, and when.
    last: Option<(LoadSummary, i64)>,
}

impl Reporter for ModularReporter {
    fn measure(&mut self, measured: &Measurement, settings: &Settings) -> Reported {
        let now = LoadSummary {
            rate: measured.bundles.iter().map(|(_, stats)| stats.rate()).sum(),
            throughput: measured.bundles.iter().map(|(_, stats)| stats.throughput()).sum(),
            bundles: measured.bundles.len() as u64,
            usage: measured.host.max_weighted(&settings.weights()),
        };
        let is_due = match &self.last {
            Some((last, at)) => {
                let age = measured.at.saturating_sub(*at);
                age >= settings.load_balancer_report_update_min_interval_millis
                    && report_due(last, &now, age, settings).is_some()
            }
            None => true,
        };
        if !is_due {
            return Reported::default();
        }
        self.last = Some((now, measured.at));
        let mut report = LocalBrokerData {
            broker_id: Some(String::from(self.broker.clone())),
            persistent_topics_enabled: self.info.persistent,
            non_persistent_topics_enabled: self.info.non_persistent,
            broker_version_string: self.info.version.clone(),
            load_manager_class_name: Some(ManagerKind::Modular.class_name().to_owned()),
            last_update: measured.at,
            ..LocalBrokerData::default()
        };
        report.update(measured.host, measured.bundles.iter().cloned().collect());
        report.clear_deltas();
        Reported { report: Some(Report::Modular(Box::new(report))), splits: Vec::new() }
    }
}
