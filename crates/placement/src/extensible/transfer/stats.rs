//! Mean and deviation of load, and what a transfer does to them.

use crate::load::BrokerLoadData;

/// Mean and population standard deviation of brokers' load, 1 being 100 %.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadStats {
    count: f64,
    average: f64,
    squares: f64,
    deviation: f64,
}

impl LoadStats {
    /// Of at least one broker.
    pub(super) fn of(loads: impl Iterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for load in loads {
            count += 1.0;
            sum += load;
            squares += load * load;
        }
        let average = sum / count;
        // Rounding can take the variance of equal loads below zero.
        let deviation = (squares / count - average * average).max(0.0).sqrt();
        Self { count, average, squares, deviation }
    }

    pub(super) fn average(&self) -> f64 {
        self.average
    }

    pub(super) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Projects that `throughput` of what `max` carries moves to `min`, with the same share of its load, which is returned.
    pub(super) fn transfer(&mut self, max: &BrokerLoadData, min: &BrokerLoadData, throughput: f64) -> f64 {
        let (high, low) = (max.weighted_max_ema, min.weighted_max_ema);
        let moved = throughput * high / max.throughput();
        self.squares -= high * high + low * low;
        self.squares += (high - moved).max(0.0).powi(2) + (low + moved).max(0.0).powi(2);
        self.deviation = (self.squares / self.count - self.average * self.average).abs().sqrt();
        moved
    }
}
