//! What brokers report about themselves and their bundles, and the averages made of it.
//!
//! Type and field names in JSON are Pulsar's, so that its brokers and tools read what is written here and the other way
//! round.

mod average;
mod broker_load;
mod bundle_stats;
mod due;
mod local_report;
mod quota;
mod records;
mod report;
mod simple_report;
mod top_bundles;
mod usage;

pub use average::{BundleData, MessageAverages, Sample, TimeAverageBrokerData};
pub use broker_load::BrokerLoadData;
pub use bundle_stats::BundleStats;
pub use due::{LoadSummary, ReportReason, report_due};
pub use local_report::LocalBrokerData;
pub use quota::ResourceQuota;
pub use records::{
    AdvertisedListener, BrokerLookupData, FailoverPolicy, FailureDomain, LeaderBroker, LocalPolicies,
    NamespaceEphemeralData, NamespaceIsolationData,
};
pub use report::{Report, ReportError};
pub use simple_report::LoadReport;
pub use top_bundles::{TopBundle, TopBundles, TopBundlesFilter};
pub use usage::{HostUsage, ResourceUsage, Weights};

/// Bytes in a MiB, the unit of throughput settings.
pub(crate) const MIB: f64 = 1_048_576.0;

#[cfg(test)]
mod tests;
