//! What is measured of a run, on the true load.

mod bound;
mod greedy;
mod score;
mod series;

pub(crate) use bound::{Bound, lower_bound};
pub(crate) use greedy::Snapshot;
pub use score::Outcome;
pub use score::Timing;
pub(crate) use score::{Label, Tally, score};
pub use series::{HostsAt, Sample, Series};
