//! The report of a broker to the Modular manager.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{AdvertisedListener, BundleStats, HostUsage};
use crate::names::BundleName;

/// What a broker writes at `/loadbalance/brokers/<brokerId>` (Pulsar's `LocalBrokerData`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LocalBrokerData {
    /// The broker's id; absent in reports of Pulsar up to 4.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_id: Option<String>,
    /// Address of the web service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_service_url: Option<String>,
    /// Address of the web service over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_service_url_tls: Option<String>,
    /// Address for clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulsar_service_url: Option<String>,
    /// Address for clients over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulsar_service_url_tls: Option<String>,
    /// Whether the broker serves persistent topics.
    pub persistent_topics_enabled: bool,
    /// Whether the broker serves non-persistent topics.
    pub non_persistent_topics_enabled: bool,
    /// Use of the host, at the top level of the JSON.
    #[serde(flatten)]
    pub usage: HostUsage,
    /// Bytes per second published, all bundles.
    pub msg_throughput_in: f64,
    /// Bytes per second dispatched, all bundles.
    pub msg_throughput_out: f64,
    /// Messages per second published, all bundles.
    pub msg_rate_in: f64,
    /// Messages per second dispatched, all bundles.
    pub msg_rate_out: f64,
    /// When the report was made, in milliseconds since 1970.
    pub last_update: i64,
    /// Latest statistics of each bundle.
    pub last_stats: BTreeMap<BundleName, BundleStats>,
    /// Topics, all bundles.
    pub num_topics: u64,
    /// Bundles.
    pub num_bundles: u64,
    /// Consumers, all bundles.
    pub num_consumers: u64,
    /// Producers, all bundles.
    pub num_producers: u64,
    /// The bundles served.
    pub bundles: BTreeSet<BundleName>,
    /// Bundles gained since the last report that was written.
    pub last_bundle_gains: BTreeSet<BundleName>,
    /// Bundles lost since the last report that was written.
    pub last_bundle_losses: BTreeSet<BundleName>,
    /// Version of the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_version_string: Option<String>,
    /// Addresses of additional protocols.
    pub protocols: BTreeMap<String, String>,
    /// Addresses by listener name.
    pub advertised_listeners: BTreeMap<String, AdvertisedListener>,
    /// Class name of the broker's load manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_manager_class_name: Option<String>,
    /// When the broker started, in milliseconds since 1970.
    pub start_timestamp: i64,
    /// Greatest use of a resource, 1 being 100 %: derived from `usage` by [`LocalBrokerData::update`].
    pub max_resource_usage: f64,
    #[doc(hidden)]
    #[serde(skip_deserializing)]
    pub load_report_type: LocalReportType,
}

/// What tells this report from a [`LoadReport`](super::LoadReport).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum LocalReportType {
    #[default]
    LocalBrokerData,
}

impl LocalBrokerData {
    /// Takes in a fresh measurement: totals become the sums over `stats`, and bundles that came or went are added to the
    /// gains and losses.
    pub fn update(&mut self, usage: HostUsage, stats: BTreeMap<BundleName, BundleStats>) {
        self.usage = usage;
        self.max_resource_usage = f64::from(usage.max_percent() / 100.0);
        let served: BTreeSet<BundleName> = stats.keys().cloned().collect();
        self.last_bundle_gains.extend(served.difference(&self.bundles).cloned());
        self.last_bundle_losses.extend(self.bundles.difference(&served).cloned());
        self.bundles = served;
        self.last_stats = stats;
        self.sum_up();
    }

    /// Forgets gains and losses, after the report was written.
    pub fn clear_deltas(&mut self) {
        self.last_bundle_gains.clear();
        self.last_bundle_losses.clear();
    }

    /// Messages per second, both ways.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.msg_rate_in + self.msg_rate_out
    }

    /// Bytes per second, both ways.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        self.msg_throughput_in + self.msg_throughput_out
    }

    fn sum_up(&mut self) {
        let stats = self.last_stats.values();
        self.msg_throughput_in = stats.clone().map(|s| s.msg_throughput_in).sum();
        self.msg_throughput_out = stats.clone().map(|s| s.msg_throughput_out).sum();
        self.msg_rate_in = stats.clone().map(|s| s.msg_rate_in).sum();
        self.msg_rate_out = stats.clone().map(|s| s.msg_rate_out).sum();
        self.num_topics = stats.clone().map(|s| s.topics).fold(0, u64::saturating_add);
        self.num_consumers = stats.clone().map(|s| s.consumer_count).fold(0, u64::saturating_add);
        self.num_producers = stats.map(|s| s.producer_count).fold(0, u64::saturating_add);
        self.num_bundles = self.last_stats.len() as u64;
    }
}
