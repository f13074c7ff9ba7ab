//! A bounded exhaustive search for plans of few moves.

use super::PlanInput;
use super::search::{Found, Step, totals};
use super::vector::Total;

/// Plans with more moves than this are left as they are.
const MOST_MOVES: usize = 7;

/// States looked at before the search gives up.
const BUDGET: usize = 60_000;

/// Differences of utilisation below this are rounding.
const ROUNDING: f64 = 1e-9;

/// Looks for a plan with fewer moves than `found` that leaves no broker above `limit`. Gives up where that takes too long.
pub(super) fn shorten(input: &PlanInput, found: Found, limit: f64) -> Found {
    if found.moves.len() < 2 || found.moves.len() > MOST_MOVES || !limit.is_finite() {
        return found;
    }
    let mut search = Exhaustive::new(input, limit);
    for moves in 1..found.moves.len() {
        if search.solve(moves) {
            return search.into_found(found);
        }
        if search.budget == 0 {
            break;
        }
    }
    found
}

struct Exhaustive<'a> {
    input: &'a PlanInput,
    limit: f64,
    used: Vec<Total>,
    /// The movable bundles of each broker, and whether each is where it started.
    bundles: Vec<Vec<u32>>,
    moved: Vec<bool>,
    steps: Vec<Step>,
    budget: usize,
}

impl<'a> Exhaustive<'a> {
    fn new(input: &'a PlanInput, limit: f64) -> Self {
        let used = totals(input);
        let mut bundles = vec![Vec::new(); input.brokers.len()];
        for (index, bundle) in (0_u32..).zip(&input.bundles) {
            let owner = bundle.owner as usize;
            let Some(bundles) = bundles.get_mut(owner) else { continue };
            if !bundle.held && bundle.group.is_none() {
                bundles.push(index);
            }
        }
        let moved = vec![false; input.bundles.len()];
        Self { input, limit, used, bundles, moved, steps: Vec::new(), budget: BUDGET }
    }

    fn utilisation(&self, broker: usize) -> (usize, f64) {
        self.used[broker].utilisation(&self.input.brokers[broker].capacity)
    }

    /// Whether `left` more moves can bring every broker to the limit. The most loaded broker has to give a bundle of its
    /// own in any such plan, so only its bundles are tried.
    fn solve(&mut self, left: usize) -> bool {
        let mut worst: Option<(usize, usize, f64)> = None;
        let mut above = 0;
        for broker in 0..self.used.len() {
            let (resource, used) = self.utilisation(broker);
            if used > self.limit.max(self.input.brokers[broker].tolerates) + ROUNDING {
                above += 1;
                if worst.is_none_or(|(_, _, most)| used > most) {
                    worst = Some((broker, resource, used));
                }
            }
        }
        let Some((from, resource, _)) = worst else { return true };
        if above > left || self.budget == 0 {
            return false;
        }
        let capacity = f64::from(self.input.brokers[from].capacity.0[resource]);
        let excess = self.used[from].0[resource] - self.limit.max(self.input.brokers[from].tolerates) * capacity;
        let bundles = self.bundles[from].clone();
        let size = |index: u32| f64::from(self.input.bundles[index as usize].load.0[resource]);
        let biggest = bundles.iter().filter(|index| !self.moved[**index as usize]).map(|index| size(*index));
        if excess > left as f64 * biggest.fold(0.0, f64::max) {
            return false;
        }
        for index in bundles {
            let bundle = &self.input.bundles[index as usize];
            if self.moved[index as usize] || bundle.load.0[resource] <= 0.0 {
                continue;
            }
            for to in (0..self.used.len()).filter(|to| *to != from) {
                if self.budget == 0 {
                    return false;
                }
                if !self.input.allows(bundle, to) {
                    continue;
                }
                self.budget -= 1;
                let before = (self.used[from], self.used[to]);
                self.used[from] -= bundle.load;
                self.used[to] += bundle.load;
                self.moved[index as usize] = true;
                self.steps.push(Step { bundle: index, from: from as u32, to: to as u32, swaps_back: false });
                if self.solve(left - 1) {
                    return true;
                }
                self.steps.pop();
                self.moved[index as usize] = false;
                (self.used[from], self.used[to]) = before;
            }
        }
        false
    }

    fn into_found(mut self, found: Found) -> Found {
        let after: Vec<f64> = (0..self.used.len()).map(|broker| self.utilisation(broker).1).collect();
        let sheds = |step: &Step| found.loads[step.from as usize].0 > self.limit + ROUNDING;
        let swaps_back: Vec<bool> = self.steps.iter().map(|step| !sheds(step)).collect();
        self.steps.iter_mut().zip(swaps_back).for_each(|(step, back)| step.swaps_back = back);
        Found {
            target: found.target,
            excess: found.excess,
            peak: after.iter().copied().fold(0.0, f64::max),
            loads: found.loads.iter().map(|(before, _)| *before).zip(after).collect(),
            moves: self.steps,
        }
    }
}
