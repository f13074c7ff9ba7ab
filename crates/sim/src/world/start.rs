//! Where bundles are when a scenario begins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::World;
use super::vector::OUT;
use crate::chance::{Chance, Stream};
use crate::scenario::{Bundles, Start};

/// A positive number as a key that sorts.
#[derive(Clone, Copy, PartialEq)]
struct Key(f64);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Gives every bundle to a host.
pub(super) fn place(world: &mut World, bundles: &Bundles, chance: Chance) {
    for isolated in [false, true] {
        let hosts: Vec<usize> = (0..world.hosts.len()).filter(|host| world.hosts[*host].isolated == isolated).collect();
        let mut members: Vec<u32> =
            world.bundles_alive().filter(|bundle| world.is_isolated(*bundle) == isolated).collect();
        if hosts.is_empty() {
            continue;
        }
        members.sort_by(|a, b| world.load(*b).0[OUT].total_cmp(&world.load(*a).0[OUT]).then(a.cmp(b)));
        if let Some(usage) = &bundles.usage {
            let wanted = |host: usize| usage.get_ref()[host].0 * world.hosts[host].capacity.0[OUT];
            let wanted: Vec<(usize, f64)> = hosts.iter().map(|host| (*host, wanted(*host))).collect();
            fill(world, &members, &wanted);
            continue;
        }
        match bundles.start {
            Start::Random => scatter(world, &members, &hosts, chance),
            Start::Even => level(world, &members, &hosts),
            Start::Skewed => {
                let last = hosts.len().saturating_sub(1).max(1);
                #[expect(clippy::cast_precision_loss, reason = "hosts are few")]
                let tilt = |place: usize| 1.0 + bundles.skew.0 * (1.0 - 2.0 * place as f64 / last as f64);
                let wanted: Vec<(usize, f64)> = hosts
                    .iter()
                    .enumerate()
                    .map(|(place, host)| (*host, tilt(place) * world.hosts[*host].capacity.0[OUT]))
                    .collect();
                fill(world, &members, &wanted);
            }
        }
    }
    world.settle();
}

/// Each to a host drawn by capacity.
fn scatter(world: &mut World, members: &[u32], hosts: &[usize], chance: Chance) {
    let total: f64 = hosts.iter().map(|host| world.hosts[*host].capacity.0[OUT]).sum();
    for bundle in members {
        let mut left = chance.unit(Stream::Start, 0, u64::from(*bundle)) * total;
        let mut chosen = hosts[hosts.len() - 1];
        for host in hosts {
            left -= world.hosts[*host].capacity.0[OUT];
            if left < 0.0 {
                chosen = *host;
                break;
            }
        }
        world.give(*bundle, u32::try_from(chosen).ok());
    }
}

/// Hosts get traffic in proportion to what is wanted there, biggest bundles first.
fn fill(world: &mut World, members: &[u32], wanted: &[(usize, f64)]) {
    let mut heap: BinaryHeap<Reverse<(Key, usize)>> =
        wanted.iter().filter(|(_, wanted)| *wanted > 0.0).map(|(host, _)| Reverse((Key(0.0), *host))).collect();
    let mut want = vec![0.0; world.hosts.len()];
    wanted.iter().for_each(|(host, wanted)| want[*host] = *wanted);
    for bundle in members {
        let Some(Reverse((Key(filled), host))) = heap.pop() else { break };
        world.give(*bundle, u32::try_from(host).ok());
        heap.push(Reverse((Key(filled + world.load(*bundle).0[OUT] / want[host]), host)));
    }
}

/// Every bundle to the host that is used least, biggest bundles first.
fn level(world: &mut World, members: &[u32], hosts: &[usize]) {
    let mut used: Vec<_> = (0..world.hosts.len()).map(|host| world.foreign(host)).collect();
    let key =
        |world: &World, used: &[super::Resources], host: usize| Key(used[host].share_of(&world.hosts[host].capacity));
    let mut heap: BinaryHeap<Reverse<(Key, usize)>> =
        hosts.iter().map(|host| Reverse((key(world, &used, *host), *host))).collect();
    for bundle in members {
        let Some(Reverse((_, host))) = heap.pop() else { break };
        world.give(*bundle, u32::try_from(host).ok());
        used[host] += world.load(*bundle);
        heap.push(Reverse((key(world, &used, host), host)));
    }
}
