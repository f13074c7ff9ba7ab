//! When a broker's load has changed enough to be reported.

use super::{BrokerLoadData, LocalBrokerData, Weights};
use crate::settings::Settings;

/// What is compared between the last report and now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSummary {
    /// Messages per second, both ways.
    pub rate: f64,
    /// Bytes per second, both ways.
    pub throughput: f64,
    /// Bundles served.
    pub bundles: u64,
    /// Use of the host, 1 being 100 %.
    pub usage: f64,
}

/// Why a report is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportReason {
    /// The last one is older than `loadBalancerReportUpdateMaxIntervalMinutes`.
    Age,
    /// The message rate changed.
    Rate,
    /// The throughput changed.
    Throughput,
    /// The number of bundles changed.
    Bundles,
    /// The use of the host changed.
    Usage,
}

impl LoadSummary {
    /// What the Modular manager compares: weighted usage.
    #[must_use]
    pub fn of_local(data: &LocalBrokerData, weights: &Weights) -> Self {
        Self {
            rate: data.rate(),
            throughput: data.throughput(),
            bundles: data.num_bundles,
            usage: data.usage.max_weighted(weights),
        }
    }

    /// What the Extensible manager compares: unweighted usage.
    #[must_use]
    pub fn of_broker_load(data: &BrokerLoadData) -> Self {
        Self {
            rate: data.msg_rate_in + data.msg_rate_out,
            throughput: data.throughput(),
            bundles: data.bundle_count,
            usage: data.max_resource_usage,
        }
    }
}

/// Why a report is due `age` milliseconds after the last one; `None` while it is not. Rates, traffic and bundles count by
/// their relative change, usage by percent points.
#[must_use]
pub fn report_due(last: &LoadSummary, now: &LoadSummary, age: i64, settings: &Settings) -> Option<ReportReason> {
    let max_age = i64::try_from(settings.load_balancer_report_update_max_interval_minutes.saturating_mul(60_000));
    if age > max_age.unwrap_or(i64::MAX) {
        return Some(ReportReason::Age);
    }
    let changes = [
        (ReportReason::Rate, percent_change(last.rate, now.rate)),
        (ReportReason::Throughput, percent_change(last.throughput, now.throughput)),
        (ReportReason::Bundles, percent_change(last.bundles as f64, now.bundles as f64)),
        (ReportReason::Usage, 100.0 * (last.usage - now.usage).abs()),
    ];
    let threshold = settings.load_balancer_report_update_threshold_percentage;
    changes.into_iter().find(|&(_, change)| change > threshold).map(|(reason, _)| reason)
}

fn percent_change(old: f64, new: f64) -> f64 {
    if old == 0.0 { if new == 0.0 { 0.0 } else { f64::INFINITY } } else { 100.0 * ((old - new) / old).abs() }
}
