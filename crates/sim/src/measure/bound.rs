//! The least greatest utilisation that any placement could have.

use crate::world::World;
use crate::world::vector::Resources;

/// The greatest of what bounds every placement from below.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bound {
    /// The bound.
    pub(crate) level: f64,
    /// The resource whose whole movable load fills the hosts the highest.
    pub(crate) scarcest: usize,
}

/// The maximum of: the level to which the movable load fills spare capacity, per resource and per group of hosts that
/// policies set apart; the largest bundle (topic, where bundles can be split) on its best host; the largest foreign load.
/// Hosts that are gone or have been announced to leave do not count as places.
pub(crate) fn lower_bound(world: &World) -> Bound {
    let mut bound = Bound::default();
    let mut highest_water: f64 = -1.0;
    for isolated in [false, true] {
        let hosts: Vec<usize> = (0..world.hosts.len())
            .filter(|h| world.hosts[*h].stays() && world.hosts[*h].isolated == isolated)
            .collect();
        if hosts.is_empty() {
            continue;
        }
        let mut movable = Resources::default();
        for bundle in world.bundles_alive().filter(|bundle| world.is_isolated(*bundle) == isolated) {
            movable += world.load(bundle);
        }
        let foreign: Vec<Resources> = hosts.iter().map(|host| world.foreign(*host)).collect();
        for resource in 0..4 {
            let spare = hosts.iter().zip(&foreign);
            let spare = spare.map(|(host, foreign)| (world.hosts[*host].capacity.0[resource], foreign.0[resource]));
            let level = water_level(spare.collect(), movable.0[resource]);
            if level > highest_water {
                (highest_water, bound.scarcest) = (level, resource);
            }
            bound.level = bound.level.max(level);
        }
        for (host, foreign) in hosts.iter().zip(&foreign) {
            bound.level = bound.level.max(foreign.share_of(&world.hosts[*host].capacity));
        }
        let largest = largest_piece(world, &hosts, &foreign, isolated, bound.level);
        bound.level = bound.level.max(largest);
    }
    bound
}

/// What the largest indivisible piece makes of its best host; 0 if none comes above `bound`.
fn largest_piece(world: &World, hosts: &[usize], foreign: &[Resources], isolated: bool, bound: f64) -> f64 {
    let on = |piece: Resources, place: usize| (foreign[place] + piece).share_of(&world.hosts[hosts[place]].capacity);
    let used = |place: &usize| foreign[*place].share_of(&world.hosts[hosts[*place]].capacity);
    let Some(favourite) = (0..hosts.len()).min_by(|a, b| used(a).total_cmp(&used(b))) else { return 0.0 };
    let mut highest: f64 = 0.0;
    for bundle in world.bundles_alive().filter(|bundle| world.is_isolated(*bundle) == isolated) {
        let whole = world.load(bundle);
        let part = if world.splits { f64::from(world.bundles[bundle as usize].largest_topic) } else { 1.0 };
        let piece = whole * part;
        if on(piece, favourite) > bound.max(highest) {
            let best = (0..hosts.len()).map(|place| on(piece, place)).fold(f64::INFINITY, f64::min);
            highest = highest.max(best);
        }
    }
    highest
}

/// The level to which `amount` fills hosts of (capacity, use that stays).
fn water_level(mut hosts: Vec<(f64, f64)>, amount: f64) -> f64 {
    if amount <= 0.0 {
        return 0.0;
    }
    hosts.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (mut capacity, mut held) = (0.0, 0.0);
    for (place, (host_capacity, host_held)) in hosts.iter().enumerate() {
        capacity += host_capacity;
        held += host_held;
        let level = (amount + held) / capacity;
        let next = hosts.get(place + 1).map_or(f64::INFINITY, |(capacity, held)| held / capacity);
        if level <= next {
            return level;
        }
    }
    (amount + held) / capacity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::world::build;

    fn bound_of(hosts: &str, bundles: &str) -> f64 {
        let text =
            format!("duration = \"1m\"\n{hosts}\n[bundles]\ncpu = 0.01\nmemory = 0.01\ncost-spread = 0\n{bundles}");
        let scenario = Scenario::parse(&text).unwrap();
        lower_bound(&build(&scenario, 1).unwrap()).level
    }

    #[test]
    fn water_fills_the_lowest_hosts_first() {
        assert!((water_level(vec![(1.0, 0.0), (1.0, 0.0)], 1.0) - 0.5).abs() < 1e-12);
        assert!((water_level(vec![(1.0, 0.9), (1.0, 0.0)], 0.5) - 0.5).abs() < 1e-12);
        assert!((water_level(vec![(1.0, 0.3), (1.0, 0.0), (2.0, 0.0)], 2.0) - 2.3 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn many_equal_bundles_leave_only_the_water_level() {
        let bound = bound_of("[[hosts]]\ncount = 4", "count = 400\nsizes = \"equal\"\nout = 0.4");
        assert!((bound - 0.4).abs() < 1e-9, "{bound}");
    }

    #[test]
    fn one_bundle_counts_whole_unless_it_can_be_split() {
        let bundles = "count = 4\nsizes = \"zipf\"\nexponent = 2\nout = 0.4\ntopics = 1\ntopic-exponent = 0";
        // Loads as 1, 1/4, 1/9, 1/16 of together 4 × 0.4.
        let largest = 1.6 / (1.0 + 0.25 + 1.0 / 9.0 + 1.0 / 16.0);
        let bound = bound_of("[[hosts]]\ncount = 4", &format!("{bundles}\nsplit = false"));
        assert!((bound - largest).abs() < 1e-6, "{bound} {largest}");
        let in_topics = bundles.replace("topics = 1", "topics = 100");
        let bound = bound_of("[[hosts]]\ncount = 4", &in_topics);
        assert!((bound - 0.4).abs() < 1e-6, "{bound}");
    }

    #[test]
    fn foreign_load_bounds_as_well() {
        let hosts = "[[hosts]]\ncount = 2\n[[hosts]]\ncount = 1\nforeign = 0.7";
        let bound = bound_of(hosts, "count = 300\nsizes = \"equal\"\nout = 0.2");
        assert!((bound - 0.7).abs() < 1e-9, "{bound}");
    }
}
