//! The topics of a bundle. They are many, so they are computed when they matter and stored nowhere.

use plerion_placement::balancer::BUCKETS;
use plerion_placement::bundle::BundleRange;

use crate::chance::{Chance, Stream};

/// The topics that a bundle of the start has; those of its parts are among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopicSet {
    pub(crate) chance: Chance,
    /// Number of the bundle.
    pub(crate) root: u32,
    /// Its range.
    pub(crate) range: BundleRange,
    /// How many topics there are.
    pub(crate) count: u32,
    /// They share the load by Zipf's law with this exponent.
    pub(crate) exponent: f64,
}

/// What of a bundle lies in a part of its range. Shares are of the bundle of the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) topics: u32,
    pub(crate) share: f64,
    pub(crate) largest_topic: f64,
    pub(crate) largest_topic_hash: u32,
}

impl TopicSet {
    /// Ring position and share of each topic.
    fn topics(self) -> impl Iterator<Item = (u32, f64)> {
        let total: f64 = self.weights().sum();
        let width = u64::from(self.range.upper() - self.range.lower()).max(1);
        (0..).zip(self.weights()).map(move |(i, weight)| {
            let offset = self.chance.below(Stream::TopicPlace, u64::from(self.root), i, width);
            (self.range.lower() + u32::try_from(offset).unwrap_or(0), weight / total)
        })
    }

    fn weights(self) -> impl Iterator<Item = f64> {
        (1..=self.count).map(move |rank| f64::from(rank).powf(-self.exponent))
    }

    /// What lies in `range`.
    pub(crate) fn part(self, range: BundleRange) -> Part {
        let mut part = Part::default();
        for (hash, share) in self.topics().filter(|(hash, _)| range.contains(*hash)) {
            part.topics += 1;
            part.share += share;
            if share > part.largest_topic {
                (part.largest_topic, part.largest_topic_hash) = (share, hash);
            }
        }
        part
    }

    /// The share of the load of `range` that lies in each of its equal parts; together 1, unless nothing lies there.
    pub(crate) fn buckets(self, range: BundleRange) -> [f32; BUCKETS] {
        let width = u64::from(range.upper() - range.lower()).max(1);
        let mut buckets = [0.0; BUCKETS];
        let mut total = 0.0;
        for (hash, share) in self.topics().filter(|(hash, _)| range.contains(*hash)) {
            let bucket = u64::from(hash - range.lower()) * BUCKETS as u64 / width;
            buckets[usize::try_from(bucket).unwrap_or(0).min(BUCKETS - 1)] += share;
            total += share;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
        buckets.map(|share| if total > 0.0 { (share / total) as f32 } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let range = BundleRange::new(0x4000_0000, 0x8000_0000).unwrap();
        let set = TopicSet { chance: Chance::new(3), root: 9, range, count: 50, exponent: 0.5 };
        let whole = set.part(range);
        assert_eq!(whole.topics, 50);
        assert!((whole.share - 1.0).abs() < 1e-9);
        let halves = [(0x4000_0000, 0x6000_0000), (0x6000_0000, 0x8000_0000)]
            .map(|(lower, upper)| set.part(BundleRange::new(lower, upper).unwrap()));
        assert!((halves[0].share + halves[1].share - 1.0).abs() < 1e-9);
        assert_eq!(halves[0].topics + halves[1].topics, 50);
        let buckets = set.buckets(range);
        let first_half: f32 = buckets[..8].iter().sum();
        assert!((f64::from(first_half) - halves[0].share).abs() < 1e-6);
    }
}
