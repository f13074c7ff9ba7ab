//! Halving of ranges.

use std::collections::BTreeMap;

use super::{AssignError, Owner, Range};
use crate::sticky;

/// Ranges of hashes keyed by their upper end; each newcomer gets the lower half of the largest range.
#[derive(Clone, Debug)]
pub struct Split {
    size: u32,
    ends: BTreeMap<u32, Owner>,
}

impl Default for Split {
    /// Of all sticky hashes.
    fn default() -> Self {
        Self { size: u32::from(sticky::MAX_HASH) + 1, ends: BTreeMap::new() }
    }
}

impl Split {
    /// An empty assignment of `size` hashes from 0.
    ///
    /// # Errors
    /// If `size` is not a power of two from 2 to 65536.
    pub fn with_size(size: u32) -> Result<Self, SizeError> {
        match size {
            0 | 1 => Err(SizeError::TooSmall),
            _ if !size.is_power_of_two() || size > u32::from(sticky::MAX_HASH) + 1 => Err(SizeError::NotAPower),
            _ => Ok(Self { size, ends: BTreeMap::new() }),
        }
    }

    /// The sticky hash of a key's Murmur3 hash.
    pub fn sticky_hash(&self, murmur: u32) -> u16 {
        sticky::range_hash(murmur, self.size)
    }

    /// Gives the newcomer the lower half of the largest range, of equals the lowest one.
    ///
    /// # Errors
    /// [`AssignError::Exhausted`] if the largest range holds one hash only.
    pub fn add(&mut self, owner: Owner) -> Result<(), AssignError> {
        if self.ends.is_empty() {
            // One beyond the greatest hash, as in Pulsar: it decides where the halves are cut.
            self.ends.insert(self.size, owner);
            return Ok(());
        }
        let mut lower = 0;
        let mut largest = (0, 0);
        for &end in self.ends.keys() {
            if end - lower > largest.0 {
                largest = (end - lower, end);
            }
            lower = end;
        }
        let (width, end) = largest;
        if width <= 1 {
            return Err(AssignError::Exhausted(self.ends.len()));
        }
        self.ends.insert(end - width / 2, owner);
        Ok(())
    }

    /// Gives the range of a leaver to the next higher one, the topmost to the one below.
    pub fn remove(&mut self, owner: Owner) {
        let Some(end) = self.ends.iter().find_map(|(end, other)| (*other == owner).then_some(*end)) else { return };
        self.ends.remove(&end);
        if end == self.size
            && let Some((_, below)) = self.ends.pop_last()
        {
            self.ends.insert(end, below);
        }
    }

    /// The owner of a sticky hash.
    pub fn select(&self, hash: u16) -> Option<Owner> {
        self.ends.range(u32::from(hash)..).next().map(|(_, owner)| *owner)
    }

    /// Who owns what, ascending; the last range ends one beyond the greatest hash.
    pub fn ranges(&self) -> Vec<Range> {
        let mut start = 0;
        let range = |(&end, &owner): (&u32, &Owner)| {
            let range = Range { start, end, owner };
            start = end + 1;
            range
        };
        self.ends.iter().map(range).collect()
    }
}

/// Why a number of hashes cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Less than two hashes.
    #[error("range size must greater than 2")]
    TooSmall,
    /// Not a power of two, or more than there are.
    #[error("range size must be nth power with 2")]
    NotAPower,
}
