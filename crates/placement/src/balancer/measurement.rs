//! What brokers measure of themselves, and what they tell of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::explain::Split;
use crate::load::{BrokerLoadData, BundleStats, HostUsage, LoadReport, LocalBrokerData, TopBundles};
use crate::names::BundleName;
use crate::settings::Settings;

/// Parts of equal width that a bundle's range is divided into when its owner tells where the load lies.
pub const BUCKETS: usize = 16;

/// What does not change while a broker runs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BrokerInfo {
    /// Whether it serves persistent topics.
    pub persistent: bool,
    /// Whether it serves non-persistent topics.
    pub non_persistent: bool,
    /// Its version.
    pub version: Option<String>,
}

impl Default for BrokerInfo {
    fn default() -> Self {
        Self { persistent: true, non_persistent: true, version: None }
    }
}

/// What a broker can measure at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Use of the whole host.
    pub host: HostUsage,
    /// What of it is the broker's own process, in the same units; a resource with limit 0 is not known apart.
    pub own: HostUsage,
    /// Traffic of every bundle it serves, by name.
    pub bundles: Vec<(BundleName, BundleStats)>,
    /// Where the load of its busiest bundles lies.
    pub details: Vec<BundleDetail>,
    /// How many bundles each namespace has in the whole cluster; of one that is missing only those served here count.
    pub namespaces: Arc<BTreeMap<String, usize>>,
}

/// Where the load of a bundle lies within its range.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BundleDetail {
    /// The bundle.
    pub bundle: BundleName,
    /// The share of its traffic in each part of its range; together 1.
    pub buckets: [f32; BUCKETS],
    /// The share of its traffic that its largest topic has. A topic cannot be divided.
    pub largest_topic: f32,
    /// The ring position of that topic.
    pub largest_topic_hash: u32,
}

/// What travels from a broker to the leader.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// Of the Modular manager.
    Modular(Box<LocalBrokerData>),
    /// Of the Extensible manager: the load where that is due, and the busiest bundles.
    Extensible {
        /// The broker's load.
        load: Option<Box<BrokerLoadData>>,
        /// Its busiest bundles.
        top: TopBundles,
    },
    /// Of the Simple manager.
    Simple(Box<LoadReport>),
    /// Of Plerion's own policy.
    Own(OwnReport),
}

/// The report of Plerion's own policy: everything that was measured, each time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnReport {
    /// When it was measured, in milliseconds since 1970.
    pub at: i64,
    /// Use of the whole host.
    pub host: HostUsage,
    /// What of it is the broker's own process; a resource with limit 0 is not known apart.
    pub own: HostUsage,
    /// Every bundle it serves, by name.
    pub bundles: Vec<OwnBundle>,
    /// Where the load of its busiest bundles lies.
    pub details: Vec<BundleDetail>,
}

/// The traffic of one bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnBundle {
    /// The bundle.
    pub bundle: BundleName,
    /// Messages per second, both ways.
    pub rate: f32,
    /// Bytes per second published.
    pub throughput_in: f32,
    /// Bytes per second dispatched.
    pub throughput_out: f32,
    /// Bytes cached for it.
    pub memory: f32,
    /// Topics served.
    pub topics: u32,
}

/// What a broker does after a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// What it tells the leader, if anything is due.
    pub report: Option<Report>,
    /// What it splits of its own accord.
    pub splits: Vec<Split>,
}

/// The broker's side of a profile. It is asked at each [`Clocks::measure`](super::Clocks::measure) and says what is worth
/// telling.
pub trait Reporter: Send {
    /// Takes in a measurement.
    fn measure(&mut self, measured: &Measurement, settings: &Settings) -> Reported;
}
