//! Runs for tests.

use std::sync::atomic::AtomicBool;

use plerion_clock::ManualClock;
use plerion_placement::Registry;
use plerion_placement::explain::Plan;
use plerion_sim::scenario::Scenario;
use plerion_sim::{Run, Surroundings, run};

/// Runs a scenario, with every plan shown to `watch`.
pub(crate) fn watched(text: &str, policy: &str, seed: u64, watch: &mut dyn FnMut(f64, &Plan)) -> Run {
    let scenario = Scenario::parse(text).unwrap();
    let profile = Registry::default().profile(policy).unwrap();
    let clock = ManualClock::starting_at(0);
    let stop = AtomicBool::new(false);
    let mut surroundings =
        Surroundings { clock: clock.as_ref(), stop: &stop, progress: &mut |_| {}, watch, allocated: None };
    run(&scenario, &profile, seed, &mut surroundings).unwrap()
}

pub(crate) fn simulated(text: &str, policy: &str, seed: u64) -> Run {
    watched(text, policy, seed, &mut |_, _| {})
}
