//! What ties stored bytes to the life of a store that wrote them.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A secret number, drawn anew at every start and kept in the header of every segment written since.
///
/// It goes into every checksum, so that neither a stale record in a recycled file nor bytes that a client made up and
/// had stored inside an entry pass for a record when a damaged segment is searched for what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn random() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// What the checksums of records start from.
    pub(crate) fn of_records(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The seed with which batches of `segment` carry `tag`.
    pub(crate) fn of_tag(tag: u64, segment: u64) -> Self {
        Self(Self(tag).of_batches(segment))
    }

    /// What batches of `segment` carry.
    pub(crate) fn of_batches(self, segment: u64) -> u64 {
        self.0 ^ segment.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}
