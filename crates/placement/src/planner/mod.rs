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

pub use bound::lower_bound;
pub use input::{Class, Group, PlanBroker, PlanBundle, PlanInput};
pub use vector::{RESOURCES, Vector};

use self::search::{Fit, Found, Search};
use crate::explain::{Block, BrokerRule, BundleRule, Explanation, Move, MoveReason, Plan, Projection};

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

/// Plans the moves that bring every broker to at most (1 + `gap`) times the [`lower_bound`], or as near to it as the
/// bundles allow.
#[must_use]
pub fn plan(input: &PlanInput, options: PlanOptions) -> Plan {
    let mut explanation = Explanation::of("plerion");
    if input.brokers.len() < 2 {
        return Plan::blocked(explanation, Block::TooFewBrokers);
    }
    let bound = lower_bound(input);
    let before = Search::new(input, f64::INFINITY, Fit::Tight).peak();
    let target = bound * (1.0 + options.gap);
    explanation.limit("lower bound", bound);
    explanation.limit("target", target);
    explanation.limit("acts above", bound * (1.0 + options.band));
    explanation.limit("peak", before);
    if before <= bound * (1.0 + options.band.max(options.gap)) {
        return Plan::blocked(explanation, Block::Balanced);
    }
    let found = best_search(input, target);
    explanation.limit("peak after", found.peak);
    describe(input, found, explanation)
}

/// Searches with the target; where bundles do not allow it, searches again for no more than what was reached, so that
/// nothing moves for a target that another broker misses anyway.
fn best_search(input: &PlanInput, target: f64) -> Found {
    let run = |target: f64, fit: Fit| Search::new(input, target, fit).run();
    let mut best = run(target, Fit::Tight);
    if best.peak <= target && input.bundles.len() > THOROUGH {
        return best;
    }
    best = better(best, run(target, Fit::Loose), target);
    let reached = best.peak;
    if reached > target && reached.is_finite() {
        for fit in [Fit::Tight, Fit::Loose] {
            best = better(best, run(reached, fit), reached);
        }
    }
    exact::shorten(input, best, target.max(reached))
}

fn better(a: Found, b: Found, target: f64) -> Found {
    if b.is_better_than(&a, target) { b } else { a }
}

fn describe(input: &PlanInput, found: Found, mut explanation: Explanation) -> Plan {
    let name = |broker: u32| &input.brokers[broker as usize].id;
    for (broker, (before, after)) in input.brokers.iter().zip(found.loads.iter()) {
        let rule = if *before > found.target && *after > found.target {
            BrokerRule::NothingMovable
        } else if after < before {
            BrokerRule::Sheds
        } else if after > before {
            BrokerRule::Takes
        } else {
            BrokerRule::WithinLimits
        };
        explanation.judge_broker(&broker.id, *before, rule);
        if after != before {
            explanation.projected.push(Projection { broker: broker.id.clone(), before: *before, after: *after });
        }
    }
    let mut moves = Vec::with_capacity(found.moves.len());
    for step in &found.moves {
        let bundle = &input.bundles[step.bundle as usize];
        let rule = if step.swaps_back { BundleRule::SwapsBack } else { BundleRule::Moves };
        explanation.judge_bundle(&bundle.name, name(step.from), bundle.load.greatest(), rule);
        moves.push(Move {
            bundle: bundle.name.clone(),
            from: name(step.from).clone(),
            to: Some(name(step.to).clone()),
            reason: MoveReason::Overloaded,
        });
    }
    if moves.is_empty() {
        explanation.blocked = Some(Block::NoBundles);
    }
    Plan { moves, explanation, ..Plan::default() }
}

#[cfg(test)]
mod tests;
