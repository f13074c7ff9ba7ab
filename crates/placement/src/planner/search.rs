//! Finds the moves.

use std::collections::{BTreeSet, HashMap};

use super::vector::{Total, share};
use super::{Class, Group, PlanBundle, PlanInput, Vector};

/// How many bundles are tried at a step before the broker counts as stuck.
const TRIES: usize = 64;

/// How many of a broker's biggest bundles an exchange looks at.
const SWAP_CANDIDATES: usize = 24;

/// How many bundles to each side of the ideal size are looked at.
const NEIGHBOURS: usize = 4;

/// How many pairs of brokers exchanges look at in all.
const EXCHANGES: usize = 4_000;

/// Differences of utilisation below this are rounding.
const ROUNDING: f64 = 1e-9;

/// Which of several possible destinations takes a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The one with the least room left, so that big room stays for big bundles.
    Tight,
    /// The one with the most room left.
    Loose,
}

/// From which size on the bundles of a class and group fit nowhere. Room only shrinks while one broker gives.
type Hopeless = HashMap<(Option<Class>, Option<Group>), f64>;

/// One move, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The bundle.
    pub bundle: u32,
    /// The broker that has it.
    pub from: u32,
    /// The broker that is to have it.
    pub to: u32,
    /// It makes room for a bigger one.
    pub swaps_back: bool,
}

/// The outcome of a search.
pub(super) struct Found {
    pub(super) target: f64,
    pub(super) moves: Vec<Step>,
    /// Greatest utilisation afterwards.
    pub(super) peak: f64,
    /// How far a broker stays above what it may have.
    pub(super) excess: f64,
    /// Utilisation of each broker before and after.
    pub(super) loads: Vec<(f64, f64)>,
}

/// A search for moves that bring every broker to `target` or below.
pub(super) struct Search<'a> {
    input: &'a PlanInput,
    target: f64,
    fit: Fit,
    /// What is used on each broker.
    used: Vec<Total>,
    /// The bundles of each broker that were there from the start and have not moved.
    bundles: Vec<Vec<u32>>,
    /// How many bundles of each group each broker has.
    groups: HashMap<(Group, u32), u32>,
    /// The brokers below the target, by utilisation.
    takers: BTreeSet<(u64, u32)>,
    /// Greatest amount that any host has of each resource.
    roomiest: Vector,
    moves: Vec<Step>,
}

impl Found {
    /// Reaches the target, or at least gets nearer to it, with fewer moves where that is equal.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        let (own, others) = (self.excess, other.excess);
        if (own - others).abs() > ROUNDING { own < others } else { self.moves.len() < other.moves.len() }
    }
}

/// What is used on each broker.
pub(super) fn totals(input: &PlanInput) -> Vec<Total> {
    let mut used: Vec<Total> = input.brokers.iter().map(|broker| broker.foreign.into()).collect();
    for bundle in &input.bundles {
        if let Some(used) = used.get_mut(bundle.owner as usize) {
            *used += bundle.load;
        }
    }
    used
}

impl<'a> Search<'a> {
    pub(super) fn new(input: &'a PlanInput, target: f64, fit: Fit) -> Self {
        let used = totals(input);
        let mut bundles = vec![Vec::new(); input.brokers.len()];
        let mut groups = HashMap::new();
        for (index, bundle) in (0_u32..).zip(&input.bundles) {
            let Some(bundles) = bundles.get_mut(bundle.owner as usize) else { continue };
            if let Some(group) = bundle.group {
                *groups.entry((group, bundle.owner)).or_insert(0) += 1;
            }
            if !bundle.held {
                bundles.push(index);
            }
        }
        let roomiest = Vector(std::array::from_fn(|r| {
            input.brokers.iter().map(|broker| broker.capacity.0[r]).fold(0.0, f32::max)
        }));
        let mut search =
            Self { input, target, fit, used, bundles, groups, takers: BTreeSet::new(), roomiest, moves: Vec::new() };
        for broker in 0..input.brokers.len() {
            search.list(broker);
        }
        search
    }

    /// Searches once.
    pub(super) fn run(mut self) -> Found {
        let before: Vec<f64> = (0..self.used.len()).map(|broker| self.utilisation(broker).1).collect();
        let mut order: Vec<usize> = (0..before.len()).filter(|broker| self.is_over(*broker, before[*broker])).collect();
        order.sort_by(|a, b| before[*b].total_cmp(&before[*a]));
        for &broker in &order {
            self.relieve(broker);
        }
        // Exchanges look at much for each step: where brokers are many, only so many are made.
        let mut steps = EXCHANGES / before.len().max(1) + 8;
        for &broker in &order {
            while steps > 0 && self.is_over(broker, self.utilisation(broker).1) && self.exchange(broker) {
                steps -= 1;
            }
        }
        self.take_back_needless();
        let after: Vec<f64> = (0..before.len()).map(|broker| self.utilisation(broker).1).collect();
        let beyond =
            |(broker, after): (usize, &f64)| if self.is_over(broker, *after) { after - self.target } else { 0.0 };
        let excess = after.iter().enumerate().map(beyond).fold(0.0, f64::max);
        let peak = after.iter().copied().fold(0.0, f64::max);
        let loads = before.into_iter().zip(after).collect();
        Found { target: self.target, peak, excess, loads, moves: self.moves }
    }

    fn bundle(&self, index: u32) -> &'a PlanBundle {
        &self.input.bundles[index as usize]
    }

    fn utilisation(&self, broker: usize) -> (usize, f64) {
        self.used[broker].utilisation(&self.input.brokers[broker].capacity)
    }

    fn is_over(&self, broker: usize, utilisation: f64) -> bool {
        utilisation > self.target.max(self.input.brokers[broker].tolerates) + ROUNDING
    }

    /// Whether a taker would end above the target.
    fn is_full(&self, utilisation: f64) -> bool {
        utilisation > self.target + ROUNDING
    }

    /// Keeps the order of takers true after the broker's use has changed.
    fn list(&mut self, broker: usize) {
        let utilisation = self.utilisation(broker).1;
        if !self.is_full(utilisation) && self.input.brokers[broker].capacity.greatest() > 0.0 {
            self.takers.insert((utilisation.to_bits(), broker as u32));
        }
    }

    fn unlist(&mut self, broker: usize) {
        self.takers.remove(&(self.utilisation(broker).1.to_bits(), broker as u32));
    }

    /// Moves bundles away until the broker is at the target or nothing more can go.
    fn relieve(&mut self, broker: usize) {
        let mut sorted_by = None;
        let mut hopeless = Hopeless::new();
        loop {
            let (resource, utilisation) = self.utilisation(broker);
            if !self.is_over(broker, utilisation) {
                return;
            }
            if sorted_by != Some(resource) {
                let input = self.input;
                let size = |index: &u32| input.bundles[*index as usize].load.0[resource];
                self.bundles[broker].sort_by(|a, b| size(b).total_cmp(&size(a)));
                sorted_by = Some(resource);
                hopeless.clear();
            }
            let capacity = f64::from(self.input.brokers[broker].capacity.0[resource]);
            let allowance = if self.target.is_finite() { self.target * capacity } else { 0.0 };
            let excess = self.used[broker].0[resource] - allowance;
            let Some((position, to)) = self.choose(broker, resource, excess, &mut hopeless) else { return };
            let bundle = self.bundles[broker].remove(position);
            self.carry_out(bundle, broker, to, false);
        }
    }

    /// The smallest bundle that takes the whole excess away, or else the biggest one, that some broker has room for.
    /// Returns its position among the broker's bundles, which are sorted by falling size, and where it goes.
    fn choose(&self, broker: usize, resource: usize, excess: f64, hopeless: &mut Hopeless) -> Option<(usize, usize)> {
        let bundles = &self.bundles[broker];
        let size = |index: &u32| f64::from(self.bundle(*index).load.0[resource]);
        let enough = bundles.partition_point(|index| size(index) >= excess);
        // Nobody has room for what is bigger than this.
        let least = self.takers.first().map_or(f64::INFINITY, |(used, _)| f64::from_bits(*used));
        let room = (self.target - least) * f64::from(self.roomiest.0[resource]);
        let fit = bundles.partition_point(|index| size(index) > room);
        let ascending = (fit.min(enough)..enough).rev();
        let descending = enough.max(fit)..bundles.len();
        ascending
            .chain(descending)
            .filter(|position| size(&bundles[*position]) > 0.0)
            .filter_map(|position| {
                let index = bundles[position];
                let bundle = self.bundle(index);
                let hopeless = hopeless.entry((bundle.class, bundle.group)).or_insert(f64::INFINITY);
                if size(&index) >= *hopeless {
                    return None;
                }
                let found = self.destination(index, broker);
                if found.is_none() {
                    *hopeless = size(&index);
                }
                Some(found.map(|to| (position, to)).ok_or(()))
            })
            .take(TRIES)
            .find_map(Result::ok)
    }

    /// A broker that can take a bundle without exceeding the target, chosen by [`Fit`].
    fn destination(&self, index: u32, from: usize) -> Option<usize> {
        let bundle = self.bundle(index);
        let least =
            bundle.load.0.iter().zip(self.roomiest.0).map(|(load, most)| share(f64::from(*load), f64::from(most)));
        let room = self.target + ROUNDING - least.fold(0.0, f64::max);
        if room < 0.0 {
            return None;
        }
        let takes = |&&(_, to): &&(u64, u32)| {
            let to = to as usize;
            to != from
                && self.input.allows(bundle, to)
                && self.keeps_apart(bundle, from, to)
                && !self.is_full((self.used[to] + bundle.load).utilisation(&self.input.brokers[to].capacity).1)
        };
        let mut with_room = self.takers.range(..=(room.to_bits(), u32::MAX));
        let found = match self.fit {
            Fit::Tight => with_room.rev().find(takes),
            Fit::Loose => with_room.find(takes),
        };
        found.map(|(_, to)| *to as usize)
    }

    /// Whether a group is no closer together after the move than before.
    fn keeps_apart(&self, bundle: &PlanBundle, from: usize, to: usize) -> bool {
        let Some(group) = bundle.group else { return true };
        let count = |broker: usize| self.groups.get(&(group, broker as u32)).copied().unwrap_or(0);
        count(to) < count(from)
    }

    fn exchange(&mut self, broker: usize) -> bool {
        self.swap(broker) || self.level(broker)
    }

    /// Exchanges a bundle of a broker above the target for a smaller one of another broker. Returns whether it did.
    fn swap(&mut self, broker: usize) -> bool {
        let (resource, before) = self.utilisation(broker);
        let input = self.input;
        let size = |index: u32| input.bundles[index as usize].load.0[resource];
        self.bundles[broker].sort_by(|a, b| size(*b).total_cmp(&size(*a)));
        let mut best: Option<(f64, usize, usize, usize)> = None;
        for (position, &big) in self.bundles[broker].iter().enumerate().take(SWAP_CANDIDATES) {
            for other in (0..self.used.len()).filter(|other| *other != broker) {
                for (place, &small) in self.bundles[other].iter().enumerate().take(SWAP_CANDIDATES) {
                    if size(small) >= size(big) || !self.may_exchange(big, broker, small, other) {
                        continue;
                    }
                    let after = self.exchanged(broker, big, small);
                    let other_after = self.exchanged(other, small, big);
                    let improves = after < before - ROUNDING && !self.is_full(other_after);
                    if improves && best.is_none_or(|(least, ..)| after < least) {
                        best = Some((after, position, other, place));
                    }
                }
            }
        }
        let Some((_, position, other, place)) = best else { return false };
        let big = self.bundles[broker].remove(position);
        let small = self.bundles[other].remove(place);
        self.carry_out(small, other, broker, true);
        self.carry_out(big, broker, other, false);
        true
    }

    /// Moves one bundle to a broker that ends above the target, but below what this one has now: the target cannot be
    /// reached, but it can be come nearer to. A host that has to be drained gives whatever the others end at. Returns whether
    /// it did.
    fn level(&mut self, broker: usize) -> bool {
        let (resource, before) = self.utilisation(broker);
        let size = |index: u32| f64::from(self.bundle(index).load.0[resource]);
        let amount = |broker: usize| self.used[broker].0[resource];
        let capacity = |broker: usize| f64::from(self.input.brokers[broker].capacity.0[resource]);
        let mut best: Option<(f64, usize, usize)> = None;
        for other in (0..self.used.len()).filter(|other| *other != broker && capacity(*other) > 0.0) {
            let ratio = capacity(broker) / capacity(other);
            let ideal = (amount(broker) - amount(other) * ratio) / (1.0 + ratio);
            let near = self.bundles[broker].partition_point(|index| size(*index) > ideal);
            let places = near.saturating_sub(NEIGHBOURS)..(near + NEIGHBOURS).min(self.bundles[broker].len());
            for place in places {
                let index = self.bundles[broker][place];
                let bundle = self.bundle(index);
                if !self.input.allows(bundle, other) || !self.keeps_apart(bundle, broker, other) {
                    continue;
                }
                let source = if before.is_finite() {
                    (self.used[broker] - bundle.load).utilisation(&self.input.brokers[broker].capacity).1
                } else {
                    0.0
                };
                let taker = (self.used[other] + bundle.load).utilisation(&self.input.brokers[other].capacity).1;
                let after = source.max(taker);
                if after < before - ROUNDING && best.is_none_or(|(least, ..)| after < least) {
                    best = Some((after, place, other));
                }
            }
        }
        let Some((_, place, other)) = best else { return false };
        let bundle = self.bundles[broker].remove(place);
        self.carry_out(bundle, broker, other, false);
        true
    }

    fn may_exchange(&self, big: u32, from: usize, small: u32, other: usize) -> bool {
        let (big, small) = (self.bundle(big), self.bundle(small));
        self.input.allows(big, other) && self.input.allows(small, from) && big.group.is_none() && small.group.is_none()
    }

    /// Utilisation of a broker that gives one bundle and gets another.
    fn exchanged(&self, broker: usize, gives: u32, gets: u32) -> f64 {
        let used = self.used[broker] - self.bundle(gives).load + self.bundle(gets).load;
        used.utilisation(&self.input.brokers[broker].capacity).1
    }

    fn carry_out(&mut self, index: u32, from: usize, to: usize, swaps_back: bool) {
        self.shift(index, from, to);
        self.moves.push(Step { bundle: index, from: from as u32, to: to as u32, swaps_back });
    }

    fn shift(&mut self, index: u32, from: usize, to: usize) {
        let bundle = self.bundle(index);
        self.unlist(from);
        self.unlist(to);
        self.used[from] -= bundle.load;
        self.used[to] += bundle.load;
        self.list(from);
        self.list(to);
        if let Some(group) = bundle.group {
            *self.groups.entry((group, to as u32)).or_insert(0) += 1;
            self.groups.entry((group, from as u32)).and_modify(|count| *count = count.saturating_sub(1));
        }
    }

    /// Drops moves without which their source is at the target as well, smallest first.
    fn take_back_needless(&mut self) {
        let mut order: Vec<usize> = (0..self.moves.len()).collect();
        let size = |position: &usize| self.bundle(self.moves[*position].bundle).load.greatest();
        order.sort_by(|a, b| size(a).total_cmp(&size(b)));
        let mut needed = vec![true; self.moves.len()];
        for position in order {
            let Step { bundle, from, to, .. } = self.moves[position];
            let (from, to) = (from as usize, to as usize);
            let back = (self.used[from] + self.bundle(bundle).load).utilisation(&self.input.brokers[from].capacity).1;
            if !self.is_over(from, back) && self.bundle(bundle).group.is_none() {
                self.shift(bundle, to, from);
                needed[position] = false;
            }
        }
        let mut needed = needed.into_iter();
        self.moves.retain(|_| needed.next().unwrap_or(true));
    }
}
