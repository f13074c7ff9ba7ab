//! One cycle: whether to act, what to plan, and whether that is worth it.

use super::broker::{deviation, left_in_mean};
use super::input::View;
use super::verdict::Judge;
use super::{NEWS, OwnBalancer, SETTLE, seconds};
use crate::constraints::Constraints;
use crate::explain::{Block, BrokerRule, Explanation, Plan, Projection};
use crate::planner::{Outline, RESOURCES, lower_bound, reach, utilisations};

/// A plan brings brokers to within this share of the lower bound …
const GAP: f64 = 0.01;

/// … but there is none until one is above this share of it.
const ACTS: f64 = 0.018;

/// So many deviations above the mean a broker may be by chance.
const BY_CHANCE: f64 = 4.5;

/// So many deviations count where a bundle has just changed for good, which is no chance.
const WITH_NEWS: f64 = 0.5;

/// Deviation to reckon with before any was measured, as a share of the lower bound.
const UNMEASURED: f64 = 0.05;

/// Use that is away from its mean by more deviations than this has another mean.
const DRIFTED: f64 = 4.0;

/// For so many seconds a plan is reckoned to last.
const LASTS: f64 = 600.0;

/// Moving the whole load costs as much as a broker at full use above the lower bound for so many seconds. It is what
/// clients lose while bundles move, weighed against what they lose while one broker is fuller than it need be.
const COST_OF_ALL: f64 = 72.0;

/// A move that was ordered and never heard of again is forgotten after this time, in milliseconds.
const LOST: i64 = 120_000;

impl OwnBalancer {
    pub(super) fn cycle(&mut self, constraints: &Constraints<'_>, now: i64) -> Plan {
        let explanation = Explanation::of("plerion");
        self.pending.retain(|(_, since)| now.saturating_sub(*since) < LOST);
        let present = self.brokers.iter().filter(|broker| broker.present).count();
        let counted = self.brokers.iter().filter(|broker| broker.counts()).count();
        if present < 2 {
            return Plan::blocked(explanation, Block::TooFewBrokers);
        }
        if counted < 2 {
            return Plan::blocked(explanation, Block::NoLoadData);
        }
        if !self.pending.is_empty() || now < self.rests_until {
            return Plan::blocked(explanation, Block::CoolingDown);
        }
        self.follow_drift(now);
        let mut view = self.view(constraints);
        let whole = self.cut_giants(&mut view);
        let bound = lower_bound(&view.input);
        self.let_rest(&mut view, now);
        let deviations = self.deviations(&view, bound, now);
        for (place, host) in view.hosts.iter().enumerate() {
            let broker = &self.brokers[*host as usize];
            let is_news = now.saturating_sub(broker.news) < NEWS && broker.more > deviations[place];
            let by_chance = if is_news { WITH_NEWS } else { BY_CHANCE } * deviations[place];
            view.input.brokers[place].tolerates = bound * (1.0 + ACTS) + by_chance;
        }
        let before = utilisations(&view.input);
        let acts = before.iter().zip(&view.input.brokers).any(|(used, host)| *used > host.tolerates);
        let acts_above = view.input.brokers.iter().map(|host| host.tolerates).fold(0.0, f64::max);
        let mut wavers = deviations.iter().copied().fold(0.0, f64::max);
        if acts && self.brokers.iter().all(|broker| broker.wavering.count == 0) {
            // Something has to move although no wavering was measured: then all the way.
            wavers = 0.0;
            view.input.brokers.iter_mut().for_each(|host| host.tolerates = bound * (1.0 + ACTS));
        }
        let target = bound * (1.0 + GAP) + WITH_NEWS * wavers;
        let mut plan = Plan::empty(explanation);
        plan.explanation.limit("lower bound", bound);
        plan.explanation.limit("target", target);
        plan.explanation.limit("acts above", acts_above);
        plan.explanation.limit("wavers by", wavers);
        let outline = if acts {
            self.search(&mut view, whole, bound, target)
        } else {
            let peak = before.iter().copied().fold(0.0, f64::max);
            let loads = before.iter().map(|used| (*used, *used)).collect();
            Outline { blocked: Some(Block::Balanced), bound, target, peak: (peak, peak), moves: Vec::new(), loads }
        };
        self.write_down(&view, outline, constraints, now, plan)
    }

    /// Where the use of a broker has left its mean by more than wavering explains, the level of now is the mean.
    fn follow_drift(&mut self, now: i64) {
        let mut drift = vec![[0.0; RESOURCES]; self.brokers.len()];
        for slot in &self.slots {
            if let Some(drift) = drift.get_mut(slot.owner as usize) {
                let away = f64::from(slot.level) - 1.0;
                drift.iter_mut().zip(super::input::load(slot)).for_each(|(drift, load)| *drift += load * away);
            }
        }
        let drifted: Vec<bool> = drift
            .iter()
            .zip(&self.brokers)
            .map(|(drift, broker)| {
                let share = |(drift, limit): (&f64, f64)| if limit > 0.0 { (drift / limit).abs() } else { 0.0 };
                let away = drift.iter().zip(broker.limits()).map(share).fold(0.0, f64::max);
                away > DRIFTED * deviation(broker.wavering.square) + 1e-4
            })
            .collect();
        for (broker, drifted) in self.brokers.iter_mut().zip(&drifted) {
            if *drifted || broker.watched == 0 {
                broker.watched = seconds(now);
            }
        }
        for slot in &mut self.slots {
            if drifted.get(slot.owner as usize).copied().unwrap_or(false) {
                slot.rebase();
            }
        }
    }

    /// By how much the use of each host wavers. What one alone has shown counts the more, the longer it was watched.
    fn deviations(&self, view: &View, bound: f64, now: i64) -> Vec<f64> {
        let wavering = || view.hosts.iter().map(|host| self.brokers[*host as usize].wavering);
        let count: f64 = wavering().map(|wavering| f64::from(wavering.count)).sum();
        if count <= 0.0 {
            return vec![UNMEASURED * bound; view.hosts.len()];
        }
        let common = wavering().map(|wavering| wavering.square * f64::from(wavering.count)).sum::<f64>() / count;
        view.hosts
            .iter()
            .map(|host| {
                let broker = &self.brokers[*host as usize];
                let count = f64::from(broker.wavering.count);
                let square = (6.0 * common + count * broker.wavering.square) / (6.0 + count);
                deviation(square) * left_in_mean(seconds(now).saturating_sub(broker.watched))
            })
            .collect()
    }

    /// Plans, and cuts what keeps the plan from its target. The outcome has to be worth its moves.
    fn search(&self, view: &mut View, whole: usize, bound: f64, target: f64) -> Outline {
        let mut outline = reach(&view.input, bound, target);
        for _ in 0..3 {
            let over = |(place, (_, after)): (usize, &(f64, f64))| {
                (*after > target.max(view.input.brokers[place].tolerates) && after.is_finite()).then_some(place)
            };
            let stuck: Vec<usize> = outline.loads.iter().enumerate().filter_map(over).collect();
            let mut cut = view.clone();
            if stuck.is_empty() || !self.cut_largest(&mut cut, whole, &stuck) {
                break;
            }
            let again = reach(&cut.input, bound, target);
            if again.peak.1 >= outline.peak.1 - 1e-4 {
                break;
            }
            (outline, *view) = (again, cut);
        }
        let (before, after) = outline.peak;
        if before.is_finite() && !outline.moves.is_empty() {
            let worst = outline.loads.iter().zip(&view.input.brokers);
            let gain = worst
                .map(|((before, after), host)| {
                    (before - after.max(target)).max(0.0) * f64::from(u8::from(*before > host.tolerates))
                })
                .fold(0.0, f64::max)
                .min(before - after.min(before));
            if gain * LASTS < COST_OF_ALL * moved_share(view, &outline) || gain <= 1e-6 {
                let loads = outline.loads.iter().map(|(before, _)| (*before, *before)).collect();
                let blocked = Some(if gain <= 1e-6 { Block::NoBundles } else { Block::TooLittle });
                return Outline { blocked, moves: Vec::new(), loads, peak: (before, before), ..outline };
            }
        }
        outline
    }

    fn write_down(
        &mut self,
        view: &View,
        outline: Outline,
        constraints: &Constraints<'_>,
        now: i64,
        mut plan: Plan,
    ) -> Plan {
        plan.explanation.limit("peak", outline.peak.0);
        plan.explanation.limit("peak after", outline.peak.1);
        plan.explanation.blocked = outline.blocked;
        for ((place, host), (before, after)) in view.hosts.iter().enumerate().zip(&outline.loads) {
            let id = &self.brokers[*host as usize].id;
            let limit = outline.target.max(view.input.brokers[place].tolerates);
            let rule = if before > after {
                BrokerRule::Sheds
            } else if after > before {
                BrokerRule::Takes
            } else if *before <= limit {
                BrokerRule::WithinLimits
            } else if outline.blocked == Some(Block::TooLittle) {
                BrokerRule::TooLittle
            } else {
                BrokerRule::NothingMovable
            };
            plan.explanation.judge_broker(id, *before, rule);
            if after != before {
                plan.explanation.projected.push(Projection { broker: id.clone(), before: *before, after: *after });
            }
        }
        self.name_moves(view, &outline, &mut plan);
        if let Some(asked) = self.asked.take() {
            let judge = Judge { balancer: self, view, outline: &outline, constraints };
            judge.judge(&asked, &mut plan.explanation);
        }
        for m in &plan.moves {
            if let Some(key) = self.names.learn(&m.bundle) {
                self.pending.push((key, now));
            }
        }
        if plan.moves.is_empty() && plan.splits.is_empty() {
            if plan.explanation.blocked.is_none() {
                plan.explanation.blocked = Some(Block::NoBundles);
            }
            if acts_in_vain(plan.explanation.blocked) {
                // The same search a moment later would end the same.
                self.rests_until = now.saturating_add(SETTLE);
            }
        } else {
            plan.explanation.blocked = None;
        }
        plan
    }
}

fn acts_in_vain(blocked: Option<Block>) -> bool {
    matches!(blocked, Some(Block::NoBundles | Block::TooLittle))
}

/// The share of all load that moves, of the resource of which that is most.
fn moved_share(view: &View, outline: &Outline) -> f64 {
    let (mut moved, mut all) = ([0.0; RESOURCES], [0.0; RESOURCES]);
    let bundles = &view.input.bundles;
    for bundle in bundles.iter().filter(|bundle| (bundle.owner as usize) < view.hosts.len()) {
        all.iter_mut().zip(bundle.load.0).for_each(|(all, load)| *all += f64::from(load));
    }
    for step in &outline.moves {
        let load = bundles[step.bundle as usize].load.0;
        moved.iter_mut().zip(load).for_each(|(moved, load)| *moved += f64::from(load));
    }
    moved.iter().zip(all).map(|(moved, all)| if all > 0.0 { moved / all } else { 0.0 }).fold(0.0, f64::max)
}
