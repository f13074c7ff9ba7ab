//! What can be wrong with ranges and boundaries.

use super::BundleRange;

/// A refused range, boundary list or split. None of these is worth a retry with the same input; over HTTP
/// [`UnknownRange`](BundleError::UnknownRange) is 412 and everything else 400.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The text is not two hash values joined by one underscore.
    #[error("Invalid bundle range {text:?}: it must be lower_upper, as in 0x00000000_0x40000000")]
    RangeSyntax {
        /// The text that was given.
        text: String,
    },
    /// The text does not decode to a position on the ring.
    #[error("Invalid hash value {text:?}: it must be a number between 0x00000000 and 0xffffffff")]
    HashValue {
        /// The text that was given.
        text: String,
    },
    /// The range holds no hash, or its ends are in the wrong order.
    #[error("Empty bundle range 0x{lower:08x}_0x{upper:08x}: the lower bound must be below the upper bound")]
    EmptyRange {
        /// First hash of the range.
        lower: u32,
        /// End of the range.
        upper: u32,
    },
    /// A namespace has at least one bundle.
    #[error("Invalid number of bundles. Number of bundles has to be in the range of (0, 2^32].")]
    NoBundles,
    /// More bundles than a boundary list may hold.
    #[error("Too many bundles: {count} is more than the limit of {}", super::Bundles::MAX)]
    TooManyBundles {
        /// The number that was asked for.
        count: usize,
    },
    /// The boundary list does not start at the first and end at the last hash.
    #[error("Input bundles do not cover the whole hash range. first:{first}, last:{last}")]
    NotCovering {
        /// First boundary given, or `none`.
        first: String,
        /// Last boundary given, or `none`.
        last: String,
    },
    /// Boundaries must rise strictly.
    #[error("Boundary 0x{next:08x} follows 0x{previous:08x}: boundaries must rise strictly")]
    NotRising {
        /// The earlier boundary of the pair.
        previous: u32,
        /// The boundary that does not lie above it.
        next: u32,
    },
    /// The range is not one of the namespace's bundles.
    #[error("Cannot find bundle {range} in the bundles list")]
    UnknownRange {
        /// The range that was asked for.
        range: BundleRange,
    },
    /// A split position lies outside the bundle or on its ends.
    #[error("The given fixed keys must between the key range of the {range} bundle: 0x{position:08x} is not inside")]
    PositionOutside {
        /// The bundle to split.
        range: BundleRange,
        /// The first offending position.
        position: u32,
    },
    /// The range is too narrow for the number of parts asked for.
    #[error("Bundle {range} cannot be split into {parts} parts: it is too narrow")]
    TooNarrow {
        /// The bundle to split.
        range: BundleRange,
        /// The number of parts.
        parts: u32,
    },
}
