//! An all-knowing "largest that fits", which no policy can be expected to need fewer moves than by much.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Bound;
use crate::world::World;
use crate::world::vector::Resources;

/// The true load of a cluster at one moment, to be judged later.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    hosts: Vec<SnapshotHost>,
    bundles: Vec<(Resources, u32, bool)>,
    pub(crate) bound: Bound,
}

#[derive(Clone, Debug)]
struct SnapshotHost {
    number: u32,
    capacity: Resources,
    used: Resources,
    takes: bool,
    isolated: bool,
}

impl Snapshot {
    pub(crate) fn take(world: &World, bound: Bound) -> Self {
        let host = |host: usize| SnapshotHost {
            number: u32::try_from(host).unwrap_or(u32::MAX),
            capacity: world.hosts[host].capacity,
            used: world.used(host),
            takes: world.hosts[host].stays(),
            isolated: world.hosts[host].isolated,
        };
        let bundle = |index: u32| (world.load(index), world.bundles[index as usize].owner, world.is_isolated(index));
        Self {
            hosts: world.hosts_up().map(host).collect(),
            bundles: world.bundles_alive().map(bundle).collect(),
            bound,
        }
    }

    /// What all bundles use of the scarcest resource.
    pub(crate) fn total(&self) -> f64 {
        self.bundles.iter().map(|(load, ..)| load.0[self.bound.scarcest]).sum()
    }

    /// What has to leave the hosts that are above `level`, of the scarcest resource.
    pub(crate) fn excess(&self, level: f64) -> f64 {
        let r = self.bound.scarcest;
        self.hosts.iter().map(|host| (host.used.0[r] - level * host.capacity.0[r]).max(0.0)).sum()
    }
}

#[derive(Clone, Copy, PartialEq)]
struct Level(f64);

impl Eq for Level {}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Level {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The moves it takes to bring every host to `level`, if the host above it that is used most always gives the largest bundle
/// that fits on the host that is used least. A host from which nothing fits is left as it is.
pub(crate) fn greedy_moves(snapshot: &Snapshot, level: f64) -> u32 {
    [false, true].into_iter().map(|isolated| greedy_among(snapshot, level, isolated)).sum()
}

fn greedy_among(snapshot: &Snapshot, level: f64, isolated: bool) -> u32 {
    let hosts: Vec<&SnapshotHost> = snapshot.hosts.iter().filter(|host| host.isolated == isolated).collect();
    let mut used: Vec<Resources> = hosts.iter().map(|host| host.used).collect();
    let most = hosts.iter().map(|host| host.number as usize + 1).max().unwrap_or(0);
    let mut place_of = vec![usize::MAX; most];
    hosts.iter().enumerate().for_each(|(place, host)| place_of[host.number as usize] = place);
    let mut bundles: Vec<Vec<Resources>> = vec![Vec::new(); hosts.len()];
    for (load, owner, apart) in &snapshot.bundles {
        let place = place_of.get(*owner as usize).copied().filter(|place| *place != usize::MAX);
        if let (Some(place), true) = (place, *apart == isolated) {
            bundles[place].push(*load);
        }
    }
    let r = snapshot.bound.scarcest;
    let use_of = |used: &[Resources], place: usize| Level(used[place].share_of(&hosts[place].capacity));
    let mut takers: BinaryHeap<Reverse<(Level, usize)>> = (0..hosts.len())
        .filter(|place| hosts[*place].takes)
        .map(|place| Reverse((use_of(&used, place), place)))
        .collect();
    let mut givers: BinaryHeap<(Level, usize)> = (0..hosts.len())
        .map(|place| (use_of(&used, place), place))
        .filter(|(used, place)| used.0 > level || !hosts[*place].takes)
        .collect();
    for (_, place) in &givers {
        bundles[*place].sort_by(|a, b| b.0[r].total_cmp(&a.0[r]));
    }
    let mut moves = 0;
    while let Some((_, from)) = givers.pop() {
        let Some(Reverse((_, to))) = takers.pop() else { break };
        let capacity = hosts[to].capacity;
        let room = level * capacity.0[r] - used[to].0[r];
        let first = bundles[from].partition_point(|load| load.0[r] > room);
        let fits = |load: &Resources| (used[to] + *load).share_of(&capacity) <= level && load.0[r] > 0.0;
        let found = bundles[from][first..].iter().position(fits).filter(|_| from != to);
        if let Some(found) = found {
            let load = bundles[from].remove(first + found);
            used[from] = used[from] - load;
            used[to] += load;
            moves += 1;
            let now = use_of(&used, from);
            if now.0 > level || (!hosts[from].takes && !bundles[from].is_empty()) {
                givers.push((now, from));
            }
        }
        // The heap may hold an old level of `from`; it only makes `from` look fuller than it is.
        takers.push(Reverse((use_of(&used, to), to)));
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(hosts: &[f64], bundles: &[(f64, u32)]) -> Snapshot {
        let all = |amount: f64| Resources([amount; 4]);
        let host = |(number, capacity): (u32, &f64)| SnapshotHost {
            number,
            capacity: all(*capacity),
            used: all(bundles.iter().filter(|(_, owner)| *owner == number).map(|(load, _)| load).sum()),
            takes: true,
            isolated: false,
        };
        Snapshot {
            hosts: (0..).zip(hosts).map(host).collect(),
            bundles: bundles.iter().map(|(load, owner)| (all(*load), *owner, false)).collect(),
            bound: Bound { level: 0.0, scarcest: 0 },
        }
    }

    #[test]
    fn the_largest_bundle_that_fits_goes_to_the_least_used_host() {
        let cluster = snapshot(&[10.0, 10.0, 10.0], &[(4.0, 0), (3.0, 0), (2.0, 0), (1.0, 1)]);
        // 9, 1 and 0 are to be brought to 4: the 4 goes to the third, the 3 to the second; then 2, 4, 4.
        assert_eq!(greedy_moves(&cluster, 0.4), 2);
        assert!((cluster.excess(0.4) - 5.0).abs() < 1e-12);
        assert!((cluster.total() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn what_fits_nowhere_stays() {
        assert_eq!(greedy_moves(&snapshot(&[10.0, 10.0], &[(8.0, 0), (7.0, 1)]), 0.5), 0);
    }
}
