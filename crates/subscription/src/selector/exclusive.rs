//! Ranges that consumers declare.

use super::{AssignError, Owner, Range, find};
use crate::sticky;

/// Each consumer owns exactly the ranges it declared; a hash may have no owner.
#[derive(Clone, Debug, Default)]
pub struct Exclusive {
    /// Ascending and disjoint.
    ranges: Vec<Range>,
}

impl Exclusive {
    /// The sticky hash of a key's Murmur3 hash.
    pub fn sticky_hash(murmur: u32) -> u16 {
        sticky::range_hash(murmur, u32::from(sticky::MAX_HASH) + 1)
    }

    /// Gives a consumer the ranges it declares, inclusive at both ends.
    ///
    /// # Errors
    /// If they are not ranges of hashes, or overlap; of the latter [`AssignError::Conflict`] calls for a check whether
    /// the other consumer is still alive.
    pub fn add(&mut self, owner: Owner, ranges: Option<&[(i32, i32)]>) -> Result<(), AssignError> {
        let own = validate(ranges.ok_or(AssignError::NoMeta)?)?;
        for &(start, end) in &own {
            let at = self.ranges.partition_point(|range| range.end < start);
            if let Some(range) = self.ranges.get(at).filter(|range| range.start <= end) {
                return Err(AssignError::Conflict(range.owner));
            }
        }
        self.ranges.extend(own.into_iter().map(|(start, end)| Range { start, end, owner }));
        self.ranges.sort_unstable();
        Ok(())
    }

    /// Takes the ranges of a consumer away.
    pub fn remove(&mut self, owner: Owner) {
        self.ranges.retain(|range| range.owner != owner);
    }

    /// The owner of a sticky hash.
    pub fn select(&self, hash: u16) -> Option<Owner> {
        find(&self.ranges, u32::from(hash))
    }

    /// Who owns what, ascending.
    pub fn ranges(&self) -> Vec<Range> {
        self.ranges.clone()
    }
}

/// The ranges as hashes, as declared, if each is one and no two overlap.
fn validate(ranges: &[(i32, i32)]) -> Result<Vec<(u32, u32)>, AssignError> {
    if ranges.is_empty() {
        return Err(AssignError::NoRanges);
    }
    let hash = |bound: i32| u16::try_from(bound).ok().map(u32::from);
    let valid = |&(start, end): &(i32, i32)| match (hash(start), hash(end)) {
        _ if start > end => Err(AssignError::Reversed(start, end)),
        (Some(low), Some(high)) => Ok((low, high)),
        _ => Err(AssignError::OutOfBounds(start, end)),
    };
    let hashes = ranges.iter().map(valid).collect::<Result<Vec<_>, _>>()?;
    let mut sorted = hashes.clone();
    sorted.sort_by_key(|(start, _)| *start);
    match sorted.array_windows().find(|[lower, upper]| upper.0 <= lower.1) {
        Some(&[lower, upper]) => Err(AssignError::OwnConflict(lower, upper)),
        None => Ok(hashes),
    }
}
