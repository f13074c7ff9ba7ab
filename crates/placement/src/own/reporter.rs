//! A broker under Plerion's own policy: it tells all it measured, each time.

use crate::balancer::{Measurement, OwnBundle, OwnReport, Report, Reported, Reporter};
use crate::settings::Settings;

pub(super) struct OwnReporter;

impl Reporter for OwnReporter {
    #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for a rate")]
    fn measure(&mut self, measured: &Measurement, _settings: &Settings) -> Reported {
        let bundles = measured.bundles.iter().map(|(bundle, stats)| OwnBundle {
            bundle: bundle.clone(),
            rate: stats.rate() as f32,
            throughput_in: stats.msg_throughput_in as f32,
            throughput_out: stats.msg_throughput_out as f32,
            memory: stats.cache_size as f32,
            topics: u32::try_from(stats.topics).unwrap_or(u32::MAX),
        });
        let report = OwnReport {
            at: measured.at,
            host: measured.host,
            own: measured.own,
            bundles: bundles.collect(),
            details: measured.details.clone(),
        };
        Reported { report: Some(Report::Own(report)), splits: Vec::new() }
    }
}
