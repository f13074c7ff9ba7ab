//! Cuts bundles in the planner's view, and names what comes of it.

use std::collections::BTreeMap;

use super::OwnBalancer;
use super::cuts::{boundary, runs};
use super::input::View;
use super::names::Key;
use super::slot::NOBODY;
use crate::bundle::BundleRange;
use crate::explain::{BundleRule, Move, MoveReason, Plan, Split};
use crate::names::BundleName;
use crate::planner::{BestLevel, Outline, PlanBundle, Step, Vector, water_level};

/// A part of a bundle that may be cut: a run of its buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// Index of the whole in the planner's view.
    whole: u32,
    from: usize,
    to: usize,
}

/// Parts should be no larger than this share of what a host has to carry.
const PART: f64 = 0.5;

impl OwnBalancer {
    /// Cuts bundles that even the best host cannot carry without standing out. Returns the number of whole bundles.
    pub(super) fn cut_giants(&self, view: &mut View) -> usize {
        let whole = view.input.bundles.len();
        let level = water_level(&view.input);
        let best = BestLevel::of_input(&view.input);
        let mut giants: Vec<(u32, f64)> = Vec::new();
        if !self.details.is_empty() && level > 0.0 {
            for (index, slot) in (0_u32..).zip(&view.slots) {
                if !self.details.contains_key(slot) || view.input.bundles[index as usize].held {
                    continue;
                }
                let alone = best.of(&view.input.bundles[index as usize]);
                if alone > level {
                    giants.push((index, PART * level / alone));
                }
            }
        }
        for (index, share) in giants {
            self.cut(view, index, share);
        }
        whole
    }

    /// Cuts the largest bundle that can be cut of each of these hosts. Returns whether any was.
    pub(super) fn cut_largest(&self, view: &mut View, whole: usize, hosts: &[usize]) -> bool {
        let mut largest: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
        for (index, slot) in (0_u32..).zip(&view.slots[..whole]) {
            let bundle = &view.input.bundles[index as usize];
            if bundle.held || !hosts.contains(&(bundle.owner as usize)) || !self.details.contains_key(slot) {
                continue;
            }
            let best = largest.entry(bundle.owner).or_insert((0.0, index));
            if bundle.load.greatest() > best.0 {
                *best = (bundle.load.greatest(), index);
            }
        }
        let mut any = false;
        for (_, index) in largest.into_values() {
            any |= self.cut(view, index, 0.3);
        }
        any
    }

    /// Cuts one bundle into parts of at most `share` of it. Returns whether that makes more than one.
    fn cut(&self, view: &mut View, index: u32, share: f64) -> bool {
        let slot = view.slots[index as usize];
        let Some(detail) = self.details.get(&slot) else { return false };
        let key = self.slots[slot as usize].key;
        let is_wide = key.upper.saturating_sub(key.lower) as usize > 4 * crate::balancer::BUCKETS;
        let runs = runs(&detail.buckets, share);
        if runs.len() < 2 || !is_wide {
            return false;
        }
        let whole = view.input.bundles[index as usize];
        for (from, to, share) in runs {
            #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for a share")]
            let load = Vector(whole.load.0.map(|load| load * share as f32));
            view.input.bundles.push(PlanBundle { load, ..whole });
            view.slots.push(slot);
            view.parts.push(Part { whole: index, from, to });
        }
        // The whole is no longer there.
        view.input.bundles[index as usize] = PlanBundle { owner: NOBODY, load: Vector::default(), held: true, ..whole };
        true
    }

    /// Names the moves of a plan, and the splits they need. Neighbouring parts that end at the same broker stay together.
    pub(super) fn name_moves(&self, view: &View, outline: &Outline, plan: &mut Plan) {
        let whole = view.input.bundles.len() - view.parts.len();
        let mut of_parts: BTreeMap<usize, Step> = BTreeMap::new();
        for step in &outline.moves {
            if (step.bundle as usize) < whole {
                let key = self.slots[view.slots[step.bundle as usize] as usize].key;
                self.push_move(view, step, self.names.name(key), plan);
            } else {
                of_parts.insert(step.bundle as usize - whole, *step);
            }
        }
        let mut next = 0;
        while next < view.parts.len() {
            let parent = view.parts[next].whole;
            let siblings = view.parts[next..].iter().take_while(|part| part.whole == parent).count();
            self.name_parts(view, next..next + siblings, &of_parts, plan);
            next += siblings;
        }
    }

    fn name_parts(&self, view: &View, parts: std::ops::Range<usize>, steps: &BTreeMap<usize, Step>, plan: &mut Plan) {
        let parent = view.parts[parts.start].whole;
        let key = self.slots[view.slots[parent as usize] as usize].key;
        let Ok(range) = BundleRange::new(key.lower, key.upper) else { return };
        // Runs of parts with one destination.
        let mut runs: Vec<(usize, usize, Option<Step>)> = Vec::new();
        for index in parts {
            let (part, step) = (view.parts[index], steps.get(&index).copied());
            match runs.last_mut() {
                Some((_, to, last)) if last.map(|last| last.to) == step.map(|step| step.to) => *to = part.to,
                _ => runs.push((part.from, part.to, step)),
            }
        }
        if let [(_, _, step)] = runs[..] {
            if let Some(step) = step {
                self.push_move(view, &step, self.names.name(key), plan);
            }
            return;
        }
        let owner = steps.values().find(|step| {
            view.parts[step.bundle as usize - (view.input.bundles.len() - view.parts.len())].whole == parent
        });
        let Some(owner) = owner.map(|step| view.hosts[step.from as usize]) else { return };
        let name = self.names.name(key);
        let broker = self.brokers[owner as usize].id.clone();
        plan.explanation.judge_bundle(&name, &broker, 0.0, BundleRule::Splits);
        let at = runs[1..].iter().map(|(from, ..)| boundary(range, *from)).collect();
        plan.splits.push(Split { bundle: name, broker, at });
        for (from, to, step) in &runs {
            let Some(step) = step else { continue };
            let upper = if *to == crate::balancer::BUCKETS { key.upper } else { boundary(range, *to) };
            let child = Key { lower: boundary(range, *from), upper, ..key };
            self.push_move(view, step, self.names.name(child), plan);
        }
    }

    fn push_move(&self, view: &View, step: &Step, bundle: BundleName, plan: &mut Plan) {
        let id = |host: u32| self.brokers[view.hosts[host as usize] as usize].id.clone();
        let (from, to) = (id(step.from), id(step.to));
        let rule = if step.swaps_back { BundleRule::SwapsBack } else { BundleRule::Moves };
        let traffic = view.input.bundles[step.bundle as usize].load.greatest();
        plan.explanation.judge_bundle(&bundle, &from, traffic, rule);
        plan.moves.push(Move { bundle, from, to: Some(to), reason: MoveReason::Overloaded });
    }
}
