//! The figures of the embedded ledger store, for `/metrics`.

use std::sync::Arc;

use plerion_admin::{Exposition, Source};
use plerion_ledger::embedded::{EmbeddedStore, Histogram};

/// The figures of a ledger store.
pub(crate) struct LedgerFigures(pub(crate) Arc<EmbeddedStore>);

impl Source for LedgerFigures {
    fn write(&self, to: &mut Exposition) {
        let metrics = self.0.metrics();
        let seconds: Vec<f64> = Histogram::BOUNDS.iter().map(|bound| *bound as f64 / 1e6).collect();
        to.histogram(
            "plerion_journal_sync_seconds",
            "How long the write and sync of a batch took.",
            &seconds,
            &metrics.sync_latency.buckets(),
            metrics.sync_latency.sum() as f64 / 1e6,
        );
        let counts: Vec<f64> = Histogram::BOUNDS.iter().map(|bound| *bound as f64).collect();
        to.histogram(
            "plerion_journal_batch_entries",
            "How many entries one sync made durable.",
            &counts,
            &metrics.batch_entries.buckets(),
            metrics.batch_entries.sum() as f64,
        );
        for (name, help, counter) in [
            ("plerion_ledger_appends_total", "Entries made durable.", &metrics.appends),
            ("plerion_ledger_bytes_total", "Bytes made durable, with headers.", &metrics.bytes),
            ("plerion_journal_failed_batches_total", "Batches that failed.", &metrics.failed_batches),
            ("plerion_ledger_cached_entries_total", "Entries read from memory.", &metrics.cached_entries),
            ("plerion_ledger_cold_entries_total", "Entries read from disk.", &metrics.cold_entries),
            ("plerion_ledger_cold_bytes_total", "Bytes read from disk.", &metrics.cold_bytes),
            (
                "plerion_ledger_corrupt_records_total",
                "Records that are not what was written.",
                &metrics.corrupt_records,
            ),
            ("plerion_segments_reclaimed_total", "Segments whose space came back.", &metrics.segments_reclaimed),
            ("plerion_segments_rewritten_bytes_total", "Bytes of segments rewritten.", &metrics.rewritten_bytes),
            (
                "plerion_segments_unprepared_total",
                "Segments that grew as they were written.",
                &metrics.unprepared_segments,
            ),
        ] {
            to.counter(name, help, counter.get());
        }
        to.gauge("plerion_segments", "Segments with data.", metrics.segments.get());
        to.gauge("plerion_journals_refusing", "Journals that take no appends at present.", metrics.refusing.get());
    }
}
