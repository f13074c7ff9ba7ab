//! One policy on one cluster, from the start to the end.

mod agenda;
mod engine;
mod footprint;
mod movers;
mod transport;

use std::sync::atomic::{AtomicBool, Ordering};

use plerion_clock::Clock;
use plerion_placement::balancer::Profile;
use plerion_placement::explain::Plan;

use self::engine::Engine;
use crate::measure::{Outcome, Series};
use crate::scenario::{Scenario, ScenarioError};

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Run {
    /// The figures.
    pub outcome: Outcome,
    /// What the scenario says of itself.
    pub about: String,
    /// The cluster over time.
    pub series: Series,
}

/// What surrounds a run.
pub struct Surroundings<'a> {
    /// What decisions are timed with. Nothing is decided by it.
    pub clock: &'a dyn Clock,
    /// Ends the run early, as soon as it is set.
    pub stop: &'a AtomicBool,
    /// Is told the seconds simulated so far, every now and then.
    pub progress: &'a mut dyn FnMut(f64),
    /// Is shown every plan, with the second it was made in.
    pub watch: &'a mut dyn FnMut(f64, &Plan),
    /// How many bytes this process has allocated, where somebody counts.
    pub allocated: Option<fn() -> u64>,
}

/// Runs a policy on a scenario. The same scenario, policy and seed give the same figures, times aside.
///
/// # Errors
/// [`ScenarioError`] when the trace that the scenario names cannot be used.
pub fn run(
    scenario: &Scenario,
    profile: &Profile,
    seed: u64,
    surroundings: &mut Surroundings<'_>,
) -> Result<Run, ScenarioError> {
    let mut engine = Engine::new(scenario, profile, seed, surroundings)?;
    let mut second: u32 = 0;
    while f64::from(second) < scenario.duration.0 && !surroundings.stop.load(Ordering::Relaxed) {
        second += 1;
        engine.step(second, surroundings);
        if second.is_multiple_of(30) {
            (surroundings.progress)(f64::from(second));
        }
    }
    Ok(engine.finish())
}

#[cfg(test)]
mod tests;
