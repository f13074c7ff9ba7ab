//! Plerion's own policy: one plan that evens out a cluster in one round, with few moves.
//!
//! Load is a vector, what cannot move is told apart from what can, hosts may differ, and constraints bind every move. The
//! plan never moves a bundle twice and never puts a broker above its target (INV-LB-1). It costs O(n log n) for n bundles
//! plus a look at each broker for each move.

mod bound;
mod exact;
mod input;
mod search;
mod vector;

pub use bound::{BestLevel, lower_bound, water_level};
pub use input::{Class, Group, PlanBroker, PlanBundle, PlanInput};
pub use search::Step;
pub use vector::{RESOURCES, Vector};

use self::search::{Fit, Found, Search};
use crate::explain::Block;

/// Up to so many bundles a plan that reaches its target is compared with another one all the same.
const THOROUGH: usize = 10_000;

/// How far a plan goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOptions {
    /// How far above the lower bound a broker may end, relative to it.
    pub gap: f64,
    /// How far above the lower bound the most loaded broker has to be before anything moves, relative to it. It should be
    /// wider than the noise of the measured load, so that noise alone moves nothing.
    pub band: f64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { gap: 0.02, band: 0.05 }
    }
}

/// A plan, by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// What kept the plan from acting, if it does not.
    pub blocked: Option<Block>,
    /// The lower bound.
    pub bound: f64,
    /// The utilisation that no broker was to end above.
    pub target: f64,
    /// Greatest utilisation before and after.
    pub peak: (f64, f64),
    /// The moves, in the order of choice.
    pub moves: Vec<Step>,
    /// Utilisation of each broker before and after.
    pub loads: Vec<(f64, f64)>,
}

/// Plans the moves that bring every broker to at most (1 + `gap`) times the [`lower_bound`], or as near to it as the
/// bundles allow.
#[must_use]
pub fn plan(input: &PlanInput, options: PlanOptions) -> Outline {
    if input.brokers.len() < 2 {
        return Outline { blocked: Some(Block::TooFewBrokers), ..Outline::default() };
    }
    let bound = lower_bound(input);
    let before = utilisations(input);
    let peak = before.iter().copied().fold(0.0, f64::max);
    let target = bound * (1.0 + options.gap);
    if peak <= bound * (1.0 + options.band.max(options.gap)) {
        let loads = before.into_iter().map(|used| (used, used)).collect();
        return Outline { blocked: Some(Block::Balanced), bound, target, peak: (peak, peak), moves: Vec::new(), loads };
    }
    reach(input, bound, target)
}

/// Plans the moves that bring every broker to `target`, or as near to it as the bundles allow. `bound` is only passed on.
#[must_use]
pub fn reach(input: &PlanInput, bound: f64, target: f64) -> Outline {
    let found = best_search(input, target);
    let before = found.loads.iter().map(|(before, _)| *before).fold(0.0, f64::max);
    Outline {
        blocked: found.moves.is_empty().then_some(Block::NoBundles),
        bound,
        target: found.target,
        peak: (before, found.peak),
        moves: found.moves,
        loads: found.loads,
    }
}

/// Utilisation of each broker now.
#[must_use]
pub fn utilisations(input: &PlanInput) -> Vec<f64> {
    search::totals(input).iter().zip(&input.brokers).map(|(used, host)| used.utilisation(&host.capacity).1).collect()
}

/// Searches with the target; where bundles do not allow it, searches again for no more than what was reached, so that
/// nothing moves for a target that another broker misses anyway.
fn best_search(input: &PlanInput, target: f64) -> Found {
    let run = |target: f64, fit: Fit| Search::new(input, target, fit).run();
    let mut best = run(target, Fit::Tight);
    if best.excess <= 0.0 && input.bundles.len() > THOROUGH {
        return best;
    }
    best = better(best, run(target, Fit::Loose));
    let reached = best.peak;
    if best.excess > 0.0 && reached.is_finite() {
        for fit in [Fit::Tight, Fit::Loose] {
            let again = run(reached, fit);
            if again.excess <= 0.0 && again.moves.len() < best.moves.len() {
                best = again;
            }
        }
    }
    if input.bundles.len() > THOROUGH {
        return best;
    }
    exact::shorten(input, best, target.max(reached))
}

fn better(a: Found, b: Found) -> Found {
    if b.is_better_than(&a) { b } else { a }
}

#[cfg(test)]
mod tests;
