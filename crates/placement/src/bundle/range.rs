//! One bundle's share of the ring.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::BundleError;

/// A range of hashes. The lower bound is inclusive; the upper bound is exclusive, except that `0xffffffff`, the end of
/// the ring, belongs to the range that ends there.
///
/// Text form, everywhere a name or a path needs one: `0x%08x_0x%08x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BundleRange {
    lower: u32,
    upper: u32,
}

impl BundleRange {
    /// The whole ring, the only bundle of a namespace without policies.
    pub const FULL: Self = Self { lower: 0, upper: u32::MAX };

    /// The range from `lower` up to `upper`.
    ///
    /// # Errors
    /// [`BundleError::EmptyRange`] unless the range holds at least one hash.
    pub fn new(lower: u32, upper: u32) -> Result<Self, BundleError> {
        if lower < upper || upper == u32::MAX {
            Ok(Self { lower, upper })
        } else {
            Err(BundleError::EmptyRange { lower, upper })
        }
    }

    /// First hash of the range.
    #[must_use]
    pub const fn lower(self) -> u32 {
        self.lower
    }

    /// End of the range: exclusive, or `0xffffffff` inclusive.
    #[must_use]
    pub const fn upper(self) -> u32 {
        self.upper
    }

    /// Whether the range holds `hash`.
    #[must_use]
    pub const fn contains(self, hash: u32) -> bool {
        self.lower <= hash && (hash < self.upper || self.upper == u32::MAX)
    }

    /// Whether a boundary fits strictly inside.
    #[must_use]
    pub const fn can_split(self) -> bool {
        self.upper - self.lower > 1
    }

    /// The position that cuts the range into halves; `None` if it is too narrow.
    #[must_use]
    pub const fn middle(self) -> Option<u32> {
        if self.can_split() { Some(self.lower + (self.upper - self.lower) / 2) } else { None }
    }

    /// Whether `position` lies strictly inside, so that both parts of a cut there are ranges.
    #[must_use]
    pub const fn has_inside(self, position: u32) -> bool {
        self.lower < position && position < self.upper
    }
}

impl fmt::Display for BundleRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}_0x{:08x}", self.lower, self.upper)
    }
}

impl FromStr for BundleRange {
    type Err = BundleError;

    fn from_str(text: &str) -> Result<Self, BundleError> {
        let syntax = || BundleError::RangeSyntax { text: text.to_owned() };
        let (lower, upper) = text.split_once('_').ok_or_else(syntax)?;
        if lower.is_empty() || upper.is_empty() || upper.contains('_') {
            return Err(syntax());
        }
        Self::new(parse_hash(lower)?, parse_hash(upper)?)
    }
}

impl TryFrom<String> for BundleRange {
    type Error = BundleError;

    fn try_from(text: String) -> Result<Self, BundleError> {
        text.parse()
    }
}

impl From<BundleRange> for String {
    fn from(range: BundleRange) -> Self {
        range.to_string()
    }
}

/// Reads a ring position in any form Java's `Long.decode` takes: decimal, `0x`/`0X`/`#` hexadecimal, leading-zero octal,
/// with an optional sign.
pub(super) fn parse_hash(text: &str) -> Result<u32, BundleError> {
    let refuse = || BundleError::HashValue { text: text.to_owned() };
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let hex =
        unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")).or_else(|| unsigned.strip_prefix('#'));
    let (digits, radix) = match hex {
        Some(digits) => (digits, 16),
        None if unsigned.len() > 1 && unsigned.starts_with('0') => (&unsigned[1..], 8),
        None => (unsigned, 10),
    };
    if digits.starts_with(['+', '-']) {
        return Err(refuse());
    }
    let value = u32::from_str_radix(digits, radix).map_err(|_| refuse())?;
    if negative && value != 0 { Err(refuse()) } else { Ok(value) }
}
