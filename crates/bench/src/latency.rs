//! Latencies, as distributions.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Counts latencies with three significant digits, whatever their size.
#[derive(Clone, Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are within the histogram's one to five"))
    }
}

impl Latencies {
    #[inline]
    pub(crate) fn record(&mut self, latency: Duration) {
        self.record_many(latency, 1);
    }

    /// Counts the same latency `count` times.
    #[inline]
    pub(crate) fn record_many(&mut self, latency: Duration, count: u64) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.0.record_n(nanoseconds, count).expect("the histogram grows as needed");
    }

    pub(crate) fn add(&mut self, others: &Self) {
        self.0.add(&others.0).expect("the histogram grows as needed");
    }

    /// `None` if nothing was counted.
    pub(crate) fn summary(&self) -> Option<Summary> {
        // Whole microseconds: more digits than were counted would only mislead.
        let ms = |nanoseconds: u64| (nanoseconds as f64 / 1e3).round() / 1e3;
        let at = |quantile| ms(self.0.value_at_quantile(quantile));
        (!self.0.is_empty()).then(|| Summary {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: ms(self.0.max()),
        })
    }
}

/// A distribution in a few numbers, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_what_was_counted() {
        let (mut low, mut high) = (Latencies::default(), Latencies::default());
        (1..=500).for_each(|ms| low.record(Duration::from_millis(ms)));
        (501..=1000).for_each(|ms| high.record(Duration::from_millis(ms)));
        low.add(&high);
        let summary = low.summary().expect("not empty");
        for (got, want) in [(summary.p50, 500.0), (summary.p99, 990.0), (summary.p999, 999.0), (summary.max, 1000.0)] {
            assert!((got - want).abs() / want < 0.002, "{got}, want {want}");
        }
        assert_eq!(Latencies::default().summary(), None);
    }
}
