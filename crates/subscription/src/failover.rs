//! Which consumer of a Failover subscription is the active one.

use std::collections::BTreeMap;

use crate::murmur3::murmur3_32;

/// Points of each consumer on the hash ring.
const POINTS: u32 = 100;

/// How a topic spreads its active consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread<'a> {
    /// By the partition's index among the consumers in order.
    Partition(u32),
    /// By a hash ring of the consumers' names, on which the topic's full name picks.
    Ring(&'a str),
}

impl<'a> Spread<'a> {
    /// The spread of `topic`, which is partition `partition` of its parent or not partitioned. Topics that are not
    /// partitioned always use the ring, partitions only if `consistent_hashing` is set.
    pub fn new(topic: &'a str, partition: Option<u32>, consistent_hashing: bool) -> Self {
        match partition {
            Some(index) if !consistent_hashing => Self::Partition(index),
            _ => Self::Ring(topic),
        }
    }
}

/// The index in `consumers` (name and priority level, in order of subscribing) of the active one; `None` if there is
/// no consumer.
///
/// Only consumers of the best (lowest) priority level can be active; among them the name orders, then the time of
/// subscribing.
pub fn pick<'c>(consumers: impl IntoIterator<Item = (&'c str, i32)>, spread: Spread<'_>) -> Option<usize> {
    let mut order: Vec<_> = consumers.into_iter().enumerate().map(|(i, (name, level))| (level, name, i)).collect();
    order.sort_unstable();
    let best = order.first()?.0;
    order.truncate(order.partition_point(|&(level, ..)| level == best));
    let chosen = match spread {
        Spread::Partition(index) => index as usize % order.len(),
        Spread::Ring(topic) => on_ring(&order, topic),
    };
    Some(order[chosen].2)
}

/// The index in `order` of the owner of the first point at or after the topic's hash. Of equal points the later
/// consumer's counts.
fn on_ring(order: &[(i32, &str, usize)], topic: &str) -> usize {
    let mut ring = BTreeMap::new();
    for (index, (_, name, _)) in order.iter().enumerate() {
        for point in 0..POINTS {
            ring.insert(murmur3_32(format!("{name}{point}").as_bytes()), index);
        }
    }
    let point = murmur3_32(topic.as_bytes());
    ring.range(point..).chain(&ring).next().map_or(0, |(_, index)| *index)
}
