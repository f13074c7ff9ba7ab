//! The report of a broker to the Simple manager.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BundleStats, HostUsage};
use crate::names::BundleName;

/// What a broker writes at `/loadbalance/brokers/<brokerId>` under the Simple manager (Pulsar's `LoadReport`).
///
/// Readers find the use of the host both nested and at the top level. Pulsar writes message rates under
/// `msgThroughputIn` and `msgThroughputOut`; here these are bytes per second, as they are named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
// The derived code covers the report's own fields; the implementations below add the copies.
#[serde(remote = "Self", default, rename_all = "camelCase")]
pub struct LoadReport {
    /// The broker's id.
    pub name: String,
    /// Version of the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker_version_string: Option<String>,
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
    /// Whether every resource is below the underload threshold.
    pub under_loaded: bool,
    /// Whether some resource is above the overload threshold.
    pub over_loaded: bool,
    /// When the report was made, in milliseconds since 1970.
    pub timestamp: i64,
    /// Messages per second published, all bundles.
    pub msg_rate_in: f64,
    /// Messages per second dispatched, all bundles.
    pub msg_rate_out: f64,
    /// Topics, all bundles.
    pub num_topics: u64,
    /// Consumers, all bundles.
    pub num_consumers: u64,
    /// Producers, all bundles.
    pub num_producers: u64,
    /// Bundles.
    pub num_bundles: u64,
    /// Addresses of additional protocols.
    pub protocols: BTreeMap<String, String>,
    /// Class name of the broker's load manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_manager_class_name: Option<String>,
    /// When the broker started, in milliseconds since 1970.
    pub start_timestamp: i64,
    /// Use of the host.
    pub system_resource_usage: HostUsage,
    /// Latest statistics of each bundle.
    pub bundle_stats: BTreeMap<BundleName, BundleStats>,
    /// Bundles gained since the last report.
    pub bundle_gains: BTreeSet<BundleName>,
    /// Bundles lost since the last report.
    pub bundle_losses: BTreeSet<BundleName>,
    /// CPU set aside by the quotas of the served bundles, in percent of a core.
    #[serde(rename = "allocatedCPU")]
    pub allocated_cpu: f64,
    /// Memory set aside by the quotas of the served bundles, in MB.
    pub allocated_memory: f64,
    /// Incoming bandwidth set aside by the quotas of the served bundles, in bytes per second.
    pub allocated_bandwidth_in: f64,
    /// Outgoing bandwidth set aside by the quotas of the served bundles, in bytes per second.
    pub allocated_bandwidth_out: f64,
    /// Published messages per second set aside by the quotas of the served bundles.
    pub allocated_msg_rate_in: f64,
    /// Dispatched messages per second set aside by the quotas of the served bundles.
    pub allocated_msg_rate_out: f64,
    /// As `allocated_cpu`, of the bundles on their way.
    #[serde(rename = "preAllocatedCPU")]
    pub pre_allocated_cpu: f64,
    /// As `allocated_memory`, of the bundles on their way.
    pub pre_allocated_memory: f64,
    /// As `allocated_bandwidth_in`, of the bundles on their way.
    pub pre_allocated_bandwidth_in: f64,
    /// As `allocated_bandwidth_out`, of the bundles on their way.
    pub pre_allocated_bandwidth_out: f64,
    /// As `allocated_msg_rate_in`, of the bundles on their way.
    pub pre_allocated_msg_rate_in: f64,
    /// As `allocated_msg_rate_out`, of the bundles on their way.
    pub pre_allocated_msg_rate_out: f64,
}

impl<'de> Deserialize<'de> for LoadReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Serialize for LoadReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The report's own fields and the copies that readers of the Modular report look for.
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Written<'a> {
            #[serde(flatten, serialize_with = "LoadReport::serialize")]
            report: &'a LoadReport,
            #[serde(flatten)]
            usage: &'a HostUsage,
            msg_throughput_in: f64,
            msg_throughput_out: f64,
            last_update: i64,
            load_report_type: &'static str,
        }
        let stats = self.bundle_stats.values();
        Serialize::serialize(
            &Written {
                report: self,
                usage: &self.system_resource_usage,
                msg_throughput_in: stats.clone().map(|s| s.msg_throughput_in).sum(),
                msg_throughput_out: stats.map(|s| s.msg_throughput_out).sum(),
                last_update: self.timestamp,
                load_report_type: "LoadReport",
            },
            serializer,
        )
    }
}
