//! Which consumer of a Key_Shared subscription owns a hash.

mod draining;
mod exclusive;
mod ring;
mod split;

pub use draining::{AlreadyDraining, Draining, DrainingHash};
pub use exclusive::Exclusive;
pub use ring::Ring;
pub use split::Split;

/// A consumer's number, given by the user of a selector.
pub type Owner = u32;

/// Hashes from `start` to `end`, both included, that belong to `owner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The least hash.
    pub start: u32,
    /// The greatest hash.
    pub end: u32,
    /// Whose it is.
    pub owner: Owner,
}

/// Why a consumer cannot have hashes. The texts are Pulsar's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignError {
    /// Auto-split has no range left that can be halved.
    #[error("No more range can assigned to new consumer, assigned consumers {0}")]
    Exhausted(usize),
    /// Sticky mode without any declared range.
    #[error("Ranges for KeyShared policy must not be empty.")]
    NoRanges,
    /// A declared range is turned round.
    #[error("Fixed hash range start > end for range: [{0},{1}]")]
    Reversed(i32, i32),
    /// A declared range is not within the hashes that exist.
    #[error("Ranges must be [0, 65535], provided range is [{0},{1}]")]
    OutOfBounds(i32, i32),
    /// Two declared ranges overlap.
    #[error("Consumer's own ranges conflict: [{},{}] overlaps with [{},{}]", .0.0, .0.1, .1.0, .1.1)]
    OwnConflict((u32, u32), (u32, u32)),
    /// A declared range overlaps with one of another consumer, which may be gone without our knowing.
    #[error("Range conflict with consumer {0}")]
    Conflict(Owner),
    /// Sticky mode without Key_Shared meta.
    #[error("Must specify key shared meta for consumer.")]
    NoMeta,
}

/// The owner of hashes under one of the three rules.
#[derive(Clone, Debug)]
pub enum Selector {
    /// Consistent hashing.
    Ring(Ring),
    /// Halving of ranges.
    Split(Split),
    /// Ranges that consumers declare.
    Exclusive(Exclusive),
}

impl Selector {
    /// The sticky hash, never 0, of a key's Murmur3 hash.
    pub fn sticky_hash(&self, murmur: u32) -> u16 {
        match self {
            Self::Ring(ring) => ring.sticky_hash(murmur),
            Self::Split(split) => split.sticky_hash(murmur),
            Self::Exclusive(_) => Exclusive::sticky_hash(murmur),
        }
    }

    /// Gives hashes to a consumer: by its `name` on the ring, its declared `ranges` in sticky mode.
    ///
    /// # Errors
    /// If there is none for it; nothing changes then.
    pub fn add(&mut self, owner: Owner, name: &str, ranges: Option<&[(i32, i32)]>) -> Result<(), AssignError> {
        match self {
            Self::Ring(ring) => {
                ring.add(owner, name);
                Ok(())
            }
            Self::Split(split) => split.add(owner),
            Self::Exclusive(exclusive) => exclusive.add(owner, ranges),
        }
    }

    /// Takes the hashes of a consumer away.
    pub fn remove(&mut self, owner: Owner) {
        match self {
            Self::Ring(ring) => ring.remove(owner),
            Self::Split(split) => split.remove(owner),
            Self::Exclusive(exclusive) => exclusive.remove(owner),
        }
    }

    /// The owner of a sticky hash.
    pub fn select(&self, hash: u16) -> Option<Owner> {
        match self {
            Self::Ring(ring) => ring.select(hash),
            Self::Split(split) => split.select(hash),
            Self::Exclusive(exclusive) => exclusive.select(hash),
        }
    }

    /// Who owns what, ascending.
    pub fn ranges(&self) -> Vec<Range> {
        match self {
            Self::Ring(ring) => ring.ranges().to_vec(),
            Self::Split(split) => split.ranges(),
            Self::Exclusive(exclusive) => exclusive.ranges(),
        }
    }
}

/// The owner of `hash` in ascending, disjoint `ranges`.
fn find(ranges: &[Range], hash: u32) -> Option<Owner> {
    let range = ranges.get(ranges.partition_point(|range| range.end < hash))?;
    (range.start <= hash).then_some(range.owner)
}
