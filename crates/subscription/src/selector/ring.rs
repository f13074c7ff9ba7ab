//! Consistent hashing.

use std::collections::{BTreeMap, BTreeSet};

use super::{Owner, Range, find};
use crate::murmur3::murmur3_32;
use crate::sticky;

/// A ring of hashes 1..=`range_max` on which each consumer has a number of points; a hash belongs to the first point
/// at or after it, past the last one to the first.
///
/// A point is the sticky hash of `name \0 index \0 point`, where the index is the lowest one free among the consumers
/// of that name. Consumers on the same point queue in order of joining.
#[derive(Clone, Debug)]
pub struct Ring {
    range_max: u16,
    points_each: u32,
    points: BTreeMap<u16, Vec<Owner>>,
    names: BTreeMap<Box<str>, BTreeMap<u32, Owner>>,
    ranges: Vec<Range>,
}

impl Ring {
    /// An empty ring of all sticky hashes with `points_each` points per consumer.
    pub fn new(points_each: u32) -> Self {
        Self::with_range(points_each, sticky::MAX_HASH)
    }

    /// An empty ring of the hashes 1..=`range_max`.
    pub fn with_range(points_each: u32, range_max: u16) -> Self {
        Self {
            range_max,
            points_each: points_each.max(1),
            points: BTreeMap::new(),
            names: BTreeMap::new(),
            ranges: Vec::new(),
        }
    }

    /// The sticky hash of a key's Murmur3 hash.
    pub fn sticky_hash(&self, murmur: u32) -> u16 {
        sticky::ring_hash(murmur, self.range_max)
    }

    /// Adds the points of a consumer.
    pub fn add(&mut self, owner: Owner, name: &str) {
        let indexes = self.names.entry(name.into()).or_default();
        let index = (0..).find(|index| !indexes.contains_key(index)).expect("fewer consumers than numbers");
        indexes.insert(index, owner);
        // Two points of one consumer can meet; it stands in that queue once.
        let own: BTreeSet<_> = self.points_of(name, index).collect();
        for point in own {
            self.points.entry(point).or_default().push(owner);
        }
        self.rebuild();
    }

    /// Removes the points of a consumer.
    pub fn remove(&mut self, owner: Owner) {
        for indexes in self.names.values_mut() {
            indexes.retain(|_, other| *other != owner);
        }
        self.names.retain(|_, indexes| !indexes.is_empty());
        self.points.retain(|_, queue| {
            queue.retain(|other| *other != owner);
            !queue.is_empty()
        });
        self.rebuild();
    }

    /// The owner of a sticky hash.
    pub fn select(&self, hash: u16) -> Option<Owner> {
        find(&self.ranges, u32::from(hash))
    }

    /// Who owns what, ascending; neighbours have different owners.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    fn points_of<'a>(&self, name: &'a str, index: u32) -> impl Iterator<Item = u16> + use<'a> {
        let range_max = self.range_max;
        (0..self.points_each)
            .map(move |point| sticky::ring_hash(murmur3_32(format!("{name}\0{index}\0{point}").as_bytes()), range_max))
    }

    fn rebuild(&mut self) {
        self.ranges.clear();
        let Some((_, first)) = self.points.first_key_value() else { return };
        let wrapped = (self.range_max, first[0]);
        let mut start = 1;
        for (end, owner) in self.points.iter().map(|(point, queue)| (*point, queue[0])).chain([wrapped]) {
            let end = u32::from(end);
            match self.ranges.last_mut() {
                Some(last) if last.owner == owner => last.end = end,
                _ if start <= end => self.ranges.push(Range { start, end, owner }),
                _ => {}
            }
            start = end + 1;
        }
    }
}
