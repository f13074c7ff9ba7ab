//! Policies as they run: by name, with their clocks.

use std::fmt;
use std::sync::Arc;

use super::{Balancer, BrokerInfo, Reporter};
use crate::names::BrokerId;
use crate::settings::Settings;

/// When the two sides of a profile act, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// From one measurement of a broker to the next.
    pub measure: i64,
    /// From one cycle of the leader to the next.
    pub cycle: i64,
}

impl Clocks {
    /// Pulsar's defaults: brokers look every 5 s, the leader every minute.
    pub const PULSAR: Self = Self { measure: 5_000, cycle: 60_000 };
    /// Plerion's: both every second.
    pub const FAST: Self = Self { measure: 1_000, cycle: 1_000 };
}

/// Makes both sides of a policy.
pub trait Manager: Send + Sync {
    /// The class name that brokers with this manager publish.
    fn class_name(&self) -> &'static str;

    /// The leader's side, knowing nothing yet.
    fn balancer(&self) -> Box<dyn Balancer>;

    /// A broker's side.
    fn reporter(&self, broker: &BrokerId, info: &BrokerInfo) -> Box<dyn Reporter>;
}

/// A policy as it runs: with settings and clocks, under a name such as `threshold` or `threshold@fast`.
#[derive(Clone)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// When it acts.
    pub clocks: Clocks,
    /// Its settings: hit counts, grace, cool-downs and thresholds.
    pub settings: Settings,
    manager: Arc<dyn Manager>,
}

impl Profile {
    /// A manager at Pulsar's clocks and with Pulsar's defaults.
    #[must_use]
    pub fn at_pulsars_clocks(name: &str, manager: Arc<dyn Manager>) -> Self {
        Self { name: name.to_owned(), clocks: Clocks::PULSAR, settings: Settings::default(), manager }
    }

    /// A manager at Plerion's clocks. What Pulsar counts in cycles stays; what it counts in time shrinks with the cycle, as
    /// far as the units of the settings allow.
    #[must_use]
    pub fn at_fast_clocks(name: &str, manager: Arc<dyn Manager>) -> Self {
        let settings = Settings {
            load_balancer_report_update_min_interval_millis: Clocks::FAST.measure,
            load_balancer_shedding_grace_period_minutes: 1,
            load_balance_shedding_delay_in_seconds: 3,
            ..Settings::default()
        };
        Self { name: name.to_owned(), clocks: Clocks::FAST, settings, manager }
    }

    /// The class name that brokers of this profile publish.
    #[must_use]
    pub fn load_manager_class(&self) -> &'static str {
        self.manager.class_name()
    }

    /// The leader's side, knowing nothing yet.
    #[must_use]
    pub fn balancer(&self) -> Box<dyn Balancer> {
        self.manager.balancer()
    }

    /// A broker's side.
    #[must_use]
    pub fn reporter(&self, broker: &BrokerId, info: &BrokerInfo) -> Box<dyn Reporter> {
        self.manager.reporter(broker, info)
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("name", &self.name).field("clocks", &self.clocks).finish_non_exhaustive()
    }
}
