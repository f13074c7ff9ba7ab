//! When a broker of the Simple manager reports, and what it says of itself.

use crate::load::{HostUsage, LoadReport, ReportReason, ResourceUsage};
use crate::settings::Settings;

/// Memory is averaged over this time, in milliseconds.
const MEMORY_SPAN: f64 = 120_000.0;

/// Why a report is due, `age` milliseconds after the last one; `None` while it is not. The use of the host counts only if
/// it was measured anew (`host_checked`).
#[must_use]
pub fn report_due(
    last: &LoadReport,
    now: &LoadReport,
    age: i64,
    host_checked: bool,
    settings: &Settings,
) -> Option<ReportReason> {
    let minutes = settings.load_balancer_report_update_max_interval_minutes;
    if age > i64::try_from(minutes.saturating_mul(60_000)).unwrap_or(i64::MAX) {
        return Some(ReportReason::Age);
    }
    if age < settings.load_balancer_report_update_min_interval_millis {
        return None;
    }
    if last.num_bundles != now.num_bundles {
        return Some(ReportReason::Bundles);
    }
    let change = greatest_change(&last.system_resource_usage, &now.system_resource_usage);
    let is_great = change > settings.load_balancer_report_update_threshold_percentage;
    (host_checked && is_great).then_some(ReportReason::Usage)
}

/// The next moving average of memory, in MB, after a measurement; measurements are a report interval apart.
#[must_use]
pub fn smoothed_memory(old: f64, measured: f64, settings: &Settings) -> f64 {
    let samples = (MEMORY_SPAN / settings.load_balancer_report_update_min_interval_millis as f64).max(1.0);
    ((samples - 1.0) * old + measured) / samples
}

/// Sets whether the broker is overloaded (one of CPU, direct memory and bandwidth above the overload threshold) or
/// underloaded (all of them below the underload threshold).
pub fn judge_load(report: &mut LoadReport, settings: &Settings) {
    let used = f64::from(report.system_resource_usage.max_percent());
    report.over_loaded = used > settings.load_balancer_broker_overloaded_threshold_percentage;
    report.under_loaded = used < settings.load_balancer_broker_underloaded_threshold_percentage;
}

fn greatest_change(old: &HostUsage, new: &HostUsage) -> f64 {
    let resources = |usage: &HostUsage| -> [ResourceUsage; 5] {
        [usage.cpu, usage.memory, usage.direct_memory, usage.bandwidth_in, usage.bandwidth_out]
    };
    let changes = resources(old)
        .into_iter()
        .zip(resources(new))
        .map(|(old, new)| if new.limit > 0.0 { 100.0 * (new.usage - old.usage).abs() / new.limit } else { 0.0 });
    changes.fold(0.0, f64::max)
}
