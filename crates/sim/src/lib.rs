//! A seeded laboratory that runs balancing policies on simulated clusters of any size and measures what they do.
//!
//! The cluster has a true load that no policy sees: a message costs each bundle a different amount of processor time, and
//! the leader learns of brokers only by what live ones report, late and with losses. Figures are taken of the true load.

mod chance;
mod cli;
mod measure;
pub mod output;
mod run;
pub mod scenario;
mod world;

pub use cli::{SimulateArgs, SimulateError, Tools, simulate};
pub use measure::{HostsAt, Outcome, Sample, Series, Timing};
pub use run::{Run, Surroundings, run};
