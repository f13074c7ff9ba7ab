//! How much memory a leader keeps.

use plerion_placement::BundleName;
use plerion_placement::balancer::Report;

/// The report as it comes off the wire: with names of its own. What a leader keeps of them counts as its memory.
pub(super) fn received(mut report: Report) -> Report {
    let own = |name: &BundleName| BundleName::from(&**name);
    match &mut report {
        Report::Modular(report) => {
            report.bundles = report.bundles.iter().map(own).collect();
            report.last_stats = std::mem::take(&mut report.last_stats)
                .into_iter()
                .map(|(name, stats)| (report.bundles.get(&name).cloned().unwrap_or(name), stats))
                .collect();
        }
        Report::Extensible { top, .. } => {
            top.top_bundles_load_data.iter_mut().for_each(|bundle| bundle.bundle_name = own(&bundle.bundle_name));
        }
        Report::Simple(report) => {
            report.bundle_stats =
                std::mem::take(&mut report.bundle_stats).into_iter().map(|(name, stats)| (own(&name), stats)).collect();
        }
        Report::Own(report) => {
            report.bundles.iter_mut().for_each(|bundle| bundle.bundle = own(&bundle.bundle));
            report.details.iter_mut().for_each(|detail| detail.bundle = own(&detail.bundle));
        }
    }
    report
}

/// Adds up what is allocated while the leader is told something.
pub(super) struct Footprint {
    allocated: Option<fn() -> u64>,
    bytes: i64,
}

impl Footprint {
    pub(super) fn new(allocated: Option<fn() -> u64>) -> Self {
        Self { allocated, bytes: 0 }
    }

    /// Counts what `tell` leaves allocated.
    pub(super) fn count<T>(&mut self, tell: impl FnOnce() -> T) -> T {
        let now = |allocated: fn() -> u64| i64::try_from(allocated()).unwrap_or(i64::MAX);
        let before = self.allocated.map(now);
        let told = tell();
        if let (Some(before), Some(allocated)) = (before, self.allocated) {
            self.bytes += now(allocated) - before;
        }
        told
    }

    /// The bytes for each of `bundles`; none where nobody counts.
    #[expect(clippy::cast_precision_loss, reason = "an average")]
    pub(super) fn for_each(&self, bundles: usize) -> Option<f64> {
        self.allocated.map(|_| (self.bytes as f64 / bundles.max(1) as f64).max(0.0))
    }
}
