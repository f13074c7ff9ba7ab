//! What no plan can get below.

use super::vector::{RESOURCES, Total};
use super::{Class, PlanBundle, PlanInput};

/// The least greatest utilisation that any placement could have: the maximum of the [`water_level`], and of what the
/// biggest bundle makes of its best host.
#[must_use]
pub fn lower_bound(input: &PlanInput) -> f64 {
    let held = held(input);
    let mut bound = water(input, &held);
    let favourites = Favourites::of(input, &held);
    for bundle in input.bundles.iter().filter(|bundle| !bundle.held) {
        if !favourites.fits(input, &held, bundle, bound) {
            bound = bound.max(best_host(input, &held, bundle));
        }
    }
    bound
}

/// The lower bound if bundles could be divided at will: the maximum of
///
/// - the level to which the movable load would fill up the hosts' spare capacity, per resource, of all bundles and of those
///   of each class on the hosts of the class;
/// - the greatest utilisation by load that cannot move.
#[must_use]
pub fn water_level(input: &PlanInput) -> f64 {
    water(input, &held(input))
}

/// Tells what a bundle, alone with what cannot move, makes of the host on which it does the least harm.
pub struct BestLevel<'a> {
    input: &'a PlanInput,
    held: Vec<Total>,
}

impl<'a> BestLevel<'a> {
    /// For the bundles of this input.
    #[must_use]
    pub fn of_input(input: &'a PlanInput) -> Self {
        Self { input, held: held(input) }
    }

    /// Utilisation of that host.
    #[must_use]
    pub fn of(&self, bundle: &PlanBundle) -> f64 {
        best_host(self.input, &self.held, bundle)
    }
}

/// What cannot move, on each host.
fn held(input: &PlanInput) -> Vec<Total> {
    let mut held: Vec<Total> = input.brokers.iter().map(|broker| broker.foreign.into()).collect();
    for bundle in input.bundles.iter().filter(|bundle| bundle.held) {
        if let Some(held) = held.get_mut(bundle.owner as usize) {
            *held += bundle.load;
        }
    }
    held
}

fn water(input: &PlanInput, held: &[Total]) -> f64 {
    let mut movable = vec![Total::default(); input.classes.len() + 1];
    for bundle in input.bundles.iter().filter(|bundle| !bundle.held && (bundle.owner as usize) < held.len()) {
        movable[input.classes.len()] += bundle.load;
        // One that is where its class forbids may stay there.
        let is_inside = input.allows(bundle, bundle.owner as usize);
        if let Some(movable) =
            bundle.class.filter(|_| is_inside).and_then(|Class(class)| movable.get_mut(class as usize))
        {
            *movable += bundle.load;
        }
    }
    let mut bound: f64 = 0.0;
    for (broker, held) in input.brokers.iter().zip(held) {
        let (_, used) = held.utilisation(&broker.capacity);
        if used.is_finite() {
            bound = bound.max(used);
        }
    }
    for (class, movable) in movable.iter().enumerate() {
        let is_member =
            |host: usize| input.classes.get(class).is_none_or(|members| members.get(host).copied().unwrap_or(false));
        for resource in 0..RESOURCES {
            let hosts = input.brokers.iter().zip(held).enumerate().filter(|(host, _)| is_member(*host));
            let hosts: Vec<(f64, f64)> = hosts
                .map(|(_, (broker, held))| (f64::from(broker.capacity.0[resource]), held.0[resource]))
                .filter(|(capacity, _)| *capacity > 0.0)
                .collect();
            bound = bound.max(filled_to(hosts, movable.0[resource]));
        }
    }
    bound
}

/// The level to which `amount` fills hosts of (capacity, held).
fn filled_to(mut hosts: Vec<(f64, f64)>, amount: f64) -> f64 {
    if amount <= 0.0 || hosts.is_empty() {
        return 0.0;
    }
    hosts.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (mut capacity, mut held) = (0.0, 0.0);
    for (i, (host_capacity, host_held)) in hosts.iter().enumerate() {
        capacity += host_capacity;
        held += host_held;
        let level = (amount + held) / capacity;
        let next = hosts.get(i + 1).map_or(f64::INFINITY, |(capacity, held)| held / capacity);
        if level <= next {
            return level;
        }
    }
    (amount + held) / capacity
}

/// The host of each class, and of all, that is used least. A bundle that fits there needs no closer look.
struct Favourites {
    of_all: Option<usize>,
    of_class: Vec<Option<usize>>,
}

impl Favourites {
    fn of(input: &PlanInput, held: &[Total]) -> Self {
        let least = |is_member: &dyn Fn(usize) -> bool| {
            let hosts = input.brokers.iter().zip(held).enumerate().filter(|(i, _)| is_member(*i));
            let used = hosts.map(|(i, (broker, held))| (i, held.utilisation(&broker.capacity).1));
            used.filter(|(i, _)| input.brokers[*i].capacity.greatest() > 0.0)
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .map(|(i, _)| i)
        };
        let of_class = input.classes.iter().map(|members| least(&|i| members.get(i).copied().unwrap_or(false)));
        Self { of_all: least(&|_| true), of_class: of_class.collect() }
    }

    fn fits(&self, input: &PlanInput, held: &[Total], bundle: &PlanBundle, bound: f64) -> bool {
        let host = match bundle.class {
            None => self.of_all,
            Some(Class(class)) => self.of_class.get(class as usize).copied().flatten(),
        };
        host.is_some_and(|host| (held[host] + bundle.load).utilisation(&input.brokers[host].capacity).1 <= bound)
    }
}

/// The utilisation of the host on which the bundle, alone with what cannot move, does the least harm.
fn best_host(input: &PlanInput, held: &[Total], bundle: &PlanBundle) -> f64 {
    let hosts = input.brokers.iter().zip(held).enumerate();
    let levels = hosts
        .filter(|(i, _)| *i == bundle.owner as usize || input.allows(bundle, *i))
        .map(|(_, (broker, held))| (*held + bundle.load).utilisation(&broker.capacity).1);
    let least = levels.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}
