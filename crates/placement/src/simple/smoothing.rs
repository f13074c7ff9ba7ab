//! Values that follow load up quickly and down slowly.

/// Time in which a rising value takes over a sample completely, in milliseconds.
const RISE: f64 = 30.0 * 60.0 * 1_000.0;

/// Time in which a falling value takes over a sample completely, in milliseconds.
const FALL: f64 = 24.0 * 3_600.0 * 1_000.0;

/// Between which values a sample counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Least value.
    pub min: f64,
    /// Greatest value; 0 for none.
    pub max: f64,
}

/// The next value of a smoothed quantity: `old` moved towards `sample`, the more the longer ago (`elapsed` milliseconds)
/// it was computed. It rises within 30 minutes and falls within 24 hours.
#[must_use]
pub fn smooth(old: f64, sample: f64, bounds: Bounds, elapsed: i64) -> f64 {
    let bounded = sample.max(bounds.min);
    let bounded = if bounds.max > 0.0 { bounded.min(bounds.max) } else { bounded };
    let span = if bounded > old { RISE } else { FALL };
    let weight = (elapsed as f64 / span).clamp(0.0, 1.0);
    (1.0 - weight) * old + weight * bounded
}
