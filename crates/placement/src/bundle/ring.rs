//! The boundaries of a namespace's bundles.

use serde::{Deserialize, Serialize};

use super::range::parse_hash;
use super::{BundleError, BundleRange};

/// The bundles of one namespace. They cover the ring exactly (INV-OWN-2): no value of this type has a gap, an overlap or
/// an empty bundle.
///
/// The JSON form is Pulsar's `BundlesData`: `{"boundaries":["0x00000000",…,"0xffffffff"],"numBundles":n}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BundlesData", into = "BundlesData")]
pub struct Bundles {
    /// Lower bounds, rising strictly from 0. The end of the ring is implied, so that no list can lack it.
    lowers: Vec<u32>,
}

/// The outcome of splitting one bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSplit {
    /// All bundles of the namespace afterwards.
    pub bundles: Bundles,
    /// The ranges that replace the parent, in ring order.
    pub children: Vec<BundleRange>,
}

impl Bundles {
    /// The most bundles a namespace may have. It bounds the memory a request can claim.
    pub const MAX: usize = 1 << 20;

    /// One bundle that is the whole ring.
    #[must_use]
    pub fn whole() -> Self {
        Self { lowers: vec![0] }
    }

    /// `count` bundles of ⌊2³²/count⌋ hashes each; the remainder goes to the last one.
    ///
    /// # Errors
    /// [`BundleError::NoBundles`] for 0, [`BundleError::TooManyBundles`] above [`Bundles::MAX`].
    pub fn equal(count: u32) -> Result<Self, BundleError> {
        if count == 0 {
            return Err(BundleError::NoBundles);
        }
        refuse_too_many(count as usize)?;
        // One bundle has no second boundary, so its step of 2^32 is never used.
        let step = u32::try_from((1_u64 << 32) / u64::from(count)).unwrap_or(0);
        Ok(Self { lowers: (0..count).map(|i| i * step).collect() })
    }

    /// The bundles between stored boundaries, which must start at 0, end at `0xffffffff` and rise strictly.
    ///
    /// # Errors
    /// [`BundleError::NotCovering`], [`BundleError::NotRising`] or [`BundleError::TooManyBundles`].
    pub fn from_boundaries(boundaries: &[u32]) -> Result<Self, BundleError> {
        match boundaries {
            [0, .., u32::MAX] => {}
            _ => return Err(not_covering(boundaries)),
        }
        refuse_too_many(boundaries.len() - 1)?;
        if let Some(pair) = boundaries.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(BundleError::NotRising { previous: pair[0], next: pair[1] });
        }
        Ok(Self { lowers: boundaries[..boundaries.len() - 1].to_vec() })
    }

    /// The bundles a client asks for at namespace creation: boundaries in any order and any spelling Java's
    /// `Long.decode` accepts, duplicates dropped.
    ///
    /// # Errors
    /// [`BundleError::HashValue`] for a value that is not on the ring, [`BundleError::NotCovering`] when the ends of the
    /// ring are not among the boundaries, [`BundleError::TooManyBundles`].
    pub fn from_request<S: AsRef<str>>(texts: &[S]) -> Result<Self, BundleError> {
        refuse_too_many(texts.len().saturating_sub(1))?;
        let mut boundaries = texts.iter().map(|t| parse_hash(t.as_ref())).collect::<Result<Vec<_>, _>>()?;
        boundaries.sort_unstable();
        boundaries.dedup();
        Self::from_boundaries(&boundaries)
    }

    /// The number of bundles, at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a namespace always has a bundle")]
    pub fn len(&self) -> usize {
        self.lowers.len()
    }

    /// The bundle at `index` in ring order, or `None` past the last.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<BundleRange> {
        (index < self.len()).then(|| self.at(index))
    }

    /// All bundles in ring order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BundleRange> + '_ {
        (0..self.len()).map(|index| self.at(index))
    }

    /// All boundaries in ring order, both ends of the ring included.
    pub fn boundaries(&self) -> impl Iterator<Item = u32> + '_ {
        self.lowers.iter().copied().chain(std::iter::once(u32::MAX))
    }

    /// The bundle that holds `hash`. Every hash has exactly one; `0xffffffff` is in the last.
    #[must_use]
    pub fn find(&self, hash: u32) -> BundleRange {
        // The first lower bound is 0, so at least one is ≤ hash.
        self.at(self.lowers.partition_point(|&lower| lower <= hash) - 1)
    }

    /// The bundle that holds `topic`, a complete name (see [`topic_hash`](super::topic_hash)).
    #[must_use]
    pub fn find_topic(&self, topic: &str) -> BundleRange {
        self.find(super::topic_hash(topic))
    }

    /// Whether `range` is one of the bundles.
    #[must_use]
    pub fn contains(&self, range: BundleRange) -> bool {
        self.position(range).is_ok()
    }

    /// Checks that a range named by a client is one of the bundles.
    ///
    /// # Errors
    /// [`BundleError::UnknownRange`].
    pub fn validate(&self, range: BundleRange) -> Result<(), BundleError> {
        self.position(range).map(|_| ())
    }

    /// Cuts the bundle `parent` at `positions`, given in any order.
    ///
    /// # Errors
    /// [`BundleError::UnknownRange`] when `parent` is not a bundle of this namespace (any more),
    /// [`BundleError::PositionOutside`] for a position that is not strictly inside it, [`BundleError::NotRising`] for
    /// one given twice, [`BundleError::TooManyBundles`].
    pub fn split_at(&self, parent: BundleRange, positions: &[u32]) -> Result<BundleSplit, BundleError> {
        let index = self.position(parent)?;
        if let Some(&position) = positions.iter().find(|&&p| !parent.has_inside(p)) {
            return Err(BundleError::PositionOutside { range: parent, position });
        }
        refuse_too_many(self.len() + positions.len())?;
        let mut cuts = positions.to_vec();
        cuts.sort_unstable();
        if let Some(pair) = cuts.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(BundleError::NotRising { previous: pair[0], next: pair[1] });
        }
        let parts = cuts.len() + 1;
        let mut lowers = self.lowers.clone();
        lowers.splice(index + 1..index + 1, cuts);
        let bundles = Self { lowers };
        let children = (index..index + parts).map(|i| bundles.at(i)).collect();
        Ok(BundleSplit { bundles, children })
    }

    /// Cuts the bundle `parent` into `parts` of equal width; the remainder goes to the last part.
    ///
    /// # Errors
    /// As [`Bundles::split_at`]; [`BundleError::NoBundles`] for 0 parts, [`BundleError::TooNarrow`] when the parent has
    /// fewer hashes than parts.
    pub fn split_equally(&self, parent: BundleRange, parts: u32) -> Result<BundleSplit, BundleError> {
        self.validate(parent)?;
        if parts == 0 {
            return Err(BundleError::NoBundles);
        }
        refuse_too_many(self.len() - 1 + parts as usize)?;
        let step = (parent.upper() - parent.lower()) / parts;
        if step == 0 {
            return Err(BundleError::TooNarrow { range: parent, parts });
        }
        let positions: Vec<u32> = (1..parts).map(|i| parent.lower() + i * step).collect();
        self.split_at(parent, &positions)
    }

    fn at(&self, index: usize) -> BundleRange {
        let upper = self.lowers.get(index + 1).copied().unwrap_or(u32::MAX);
        BundleRange::new(self.lowers[index], upper)
            .expect("lower bounds rise strictly and the last may meet the ring's end")
    }

    fn position(&self, range: BundleRange) -> Result<usize, BundleError> {
        match self.lowers.binary_search(&range.lower()) {
            Ok(index) if self.at(index) == range => Ok(index),
            _ => Err(BundleError::UnknownRange { range }),
        }
    }
}

fn refuse_too_many(count: usize) -> Result<(), BundleError> {
    if count > Bundles::MAX { Err(BundleError::TooManyBundles { count }) } else { Ok(()) }
}

fn not_covering(boundaries: &[u32]) -> BundleError {
    let text = |boundary: Option<&u32>| boundary.map_or_else(|| "none".to_owned(), |b| format!("0x{b:08x}"));
    BundleError::NotCovering { first: text(boundaries.first()), last: text(boundaries.last()) }
}

#[derive(Serialize, Deserialize)]
struct BundlesData {
    boundaries: Vec<String>,
    #[serde(rename = "numBundles", default)]
    num_bundles: usize,
}

impl TryFrom<BundlesData> for Bundles {
    type Error = BundleError;

    fn try_from(data: BundlesData) -> Result<Self, BundleError> {
        Self::from_request(&data.boundaries)
    }
}

impl From<Bundles> for BundlesData {
    fn from(bundles: Bundles) -> Self {
        Self { boundaries: bundles.boundaries().map(|b| format!("0x{b:08x}")).collect(), num_bundles: bundles.len() }
    }
}
