//! The Simple manager as a profile.

use rand::RngCore;

use super::{Balancer, BrokerInfo, Manager, Measurement, Report, Reported, Reporter, SnapshotError};
use crate::constraints::Constraints;
use crate::explain::{Move, Plan};
use crate::load::LoadReport;
use crate::names::{BrokerId, BundleName};
use crate::registry::ManagerKind;
use crate::settings::Settings;
use crate::simple::{QuotaBook, SimpleManager, Strategy, judge_load, report_due, smoothed_memory};

/// How often a broker measures its host, in milliseconds (`loadBalancerHostUsageCheckIntervalMinutes`).
const HOST_CHECK: i64 = 60_000;

/// The Simple manager, with a leader that fills brokers up in order (`leastLoadedServer`). It splits nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimpleProfile;

impl Manager for SimpleProfile {
    fn class_name(&self) -> &'static str {
        ManagerKind::Simple.class_name()
    }

    fn balancer(&self) -> Box<dyn Balancer> {
        Box::new(SimpleBalancer::default())
    }

    fn reporter(&self, broker: &BrokerId, info: &BrokerInfo) -> Box<dyn Reporter> {
        Box::new(SimpleReporter { broker: broker.clone(), info: info.clone(), last: None, checked: None, memory: None })
    }
}

/// The leader of the Simple manager.
#[derive(Clone, Debug)]
pub struct SimpleBalancer {
    manager: SimpleManager,
}

impl Default for SimpleBalancer {
    fn default() -> Self {
        Self { manager: SimpleManager::new(Strategy::LeastLoadedServer, QuotaBook::default()) }
    }
}

impl Balancer for SimpleBalancer {
    fn name(&self) -> &str {
        "simple"
    }

    fn broker_joined(&mut self, _broker: &BrokerId, _info: &BrokerInfo, _now: i64) {
        // A broker counts from its first report, which carries the same facts.
    }

    fn broker_left(&mut self, broker: &BrokerId, _now: i64) {
        self.manager.broker_left(broker);
    }

    fn owner(&mut self, _bundle: &BundleName, _owner: Option<&BrokerId>, _now: i64) {
        // Ownership is known by reports.
    }

    fn report(&mut self, broker: &BrokerId, report: &Report, _settings: &Settings, _now: i64) {
        if let Report::Simple(report) = report {
            self.manager.report(broker, (**report).clone());
        }
    }

    fn decide(&mut self, constraints: &Constraints<'_>, now: i64, _rng: &mut dyn RngCore) -> Plan {
        self.manager.shed(constraints, now)
    }

    fn place(
        &mut self,
        bundle: &BundleName,
        constraints: &Constraints<'_>,
        _now: i64,
        rng: &mut dyn RngCore,
    ) -> Option<BrokerId> {
        self.manager.select(bundle, constraints, rng)
    }

    fn finished(&mut self, done: &Move, succeeded: bool, now: i64) {
        if succeeded {
            self.manager.moved(&done.bundle, now);
        }
    }

    fn split(&mut self, _parent: &BundleName, _children: &[BundleName], _now: i64) {
        // The next report names the parts.
    }

    fn snapshot(&self) -> Vec<u8> {
        serde_json::to_vec(&self.manager).unwrap_or_default()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        self.manager = serde_json::from_slice(snapshot).map_err(|reason| SnapshotError::new("simple", &reason))?;
        Ok(())
    }
}

/// A broker under the Simple manager.
struct SimpleReporter {
    broker: BrokerId,
    info: BrokerInfo,
    last: Option<LoadReport>,
    /// When the host was last measured, in milliseconds since 1970.
    checked: Option<i64>,
    /// Moving average of memory, in MB.
    memory: Option<f64>,
}

impl Reporter for SimpleReporter {
    fn measure(&mut self, measured: &Measurement, settings: &Settings) -> Reported {
        let memory = measured.host.memory.usage;
        let memory = self.memory.map_or(memory, |old| smoothed_memory(old, memory, settings));
        self.memory = Some(memory);
        let host_checked = self.checked.is_none_or(|at| measured.at.saturating_sub(at) >= HOST_CHECK);
        if host_checked {
            self.checked = Some(measured.at);
        }
        let mut now = LoadReport {
            system_resource_usage: measured.host,
            num_bundles: measured.bundles.len() as u64,
            timestamp: measured.at,
            ..LoadReport::default()
        };
        now.system_resource_usage.memory.usage = memory;
        let is_due = self.last.as_ref().is_none_or(|last| {
            let age = measured.at.saturating_sub(last.timestamp);
            report_due(last, &now, age, host_checked, settings).is_some()
        });
        if !is_due {
            return Reported::default();
        }
        self.last = Some(now.clone());
        now.name = String::from(self.broker.clone());
        now.broker_version_string.clone_from(&self.info.version);
        now.persistent_topics_enabled = self.info.persistent;
        now.non_persistent_topics_enabled = self.info.non_persistent;
        now.load_manager_class_name = Some(ManagerKind::Simple.class_name().to_owned());
        now.bundle_stats = measured.bundles.iter().cloned().collect();
        now.num_topics = measured.bundles.iter().map(|(_, stats)| stats.topics).fold(0, u64::saturating_add);
        now.msg_rate_in = measured.bundles.iter().map(|(_, stats)| stats.msg_rate_in).sum();
        now.msg_rate_out = measured.bundles.iter().map(|(_, stats)| stats.msg_rate_out).sum();
        judge_load(&mut now, settings);
        Reported { report: Some(Report::Simple(Box::new(now))), splits: Vec::new() }
    }
}
