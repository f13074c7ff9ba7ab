//! The stored form of a namespace's bundles.

use serde::{Deserialize, Serialize};

use crate::json::null_is_default;
use crate::{Error, Result};

/// Largest value of a topic's hash.
const LAST: u64 = 0xffff_ffff;

/// How a namespace's hash range is cut: each bundle goes from one boundary to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundlesData {
    /// Hexadecimal numbers in ascending order, from `0x00000000` to `0xffffffff`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub boundaries: Vec<String>,
    /// Number of bundles: one less than the boundaries.
    #[serde(rename = "numBundles", default)]
    pub num_bundles: u32,
}

impl BundlesData {
    /// `count` equal bundles; what does not divide goes to the last.
    pub fn equal(count: u32) -> Result<Self> {
        if count == 0 {
            return Err(Error::invalid(
                "Invalid number of bundles. Number of bundles has to be in the range of (0, 2^32].",
            ));
        }
        let width = (LAST + 1) / u64::from(count);
        let starts = (0..u64::from(count)).map(|at| at * width);
        let boundaries = starts.chain([LAST]).map(boundary).collect();
        Ok(Self { boundaries, num_bundles: count })
    }

    /// What a request for bundles means: equal ones if it gives only their number, else its boundaries, sorted and
    /// without duplicates. They must be hexadecimal numbers that include both ends of the range.
    pub fn normalized(&self) -> Result<Self> {
        if self.boundaries.is_empty() {
            return Self::equal(self.num_bundles);
        }
        let mut parsed = self.boundaries.iter().map(|text| parse_boundary(text)).collect::<Result<Vec<u64>>>()?;
        parsed.sort_unstable();
        parsed.dedup();
        if parsed.first() != Some(&0) || parsed.last() != Some(&LAST) {
            return Err(Error::invalid("Bundle boundaries must begin with 0x00000000 and end with 0xffffffff"));
        }
        let num_bundles = u32::try_from(parsed.len() - 1).map_err(|_| Error::invalid("There are too many bundles"))?;
        Ok(Self { boundaries: parsed.into_iter().map(boundary).collect(), num_bundles })
    }
}

fn boundary(value: u64) -> String {
    format!("0x{value:08x}")
}

fn parse_boundary(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    digits
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .filter(|&value| value <= LAST)
        .ok_or_else(|| Error::invalid(format!("Invalid bundle boundary '{text}': expected 0x00000000 to 0xffffffff")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundaries(of: &[&str]) -> BundlesData {
        BundlesData { boundaries: of.iter().map(ToString::to_string).collect(), num_bundles: 0 }
    }

    #[test]
    fn equal_bundles_cover_the_range() {
        let three = BundlesData::equal(3).unwrap();
        assert_eq!(
            serde_json::to_string(&three).unwrap(),
            r#"{"boundaries":["0x00000000","0x55555555","0xaaaaaaaa","0xffffffff"],"numBundles":3}"#
        );
        assert_eq!(BundlesData::equal(1).unwrap().boundaries, ["0x00000000", "0xffffffff"]);
        assert!(BundlesData::equal(0).is_err());
    }

    #[test]
    fn given_boundaries_are_put_in_order() {
        let given = boundaries(&["0xFFFFFFFF", "0x80000000", "0x0", "0x80000000"]);
        let normalized = given.normalized().unwrap();
        assert_eq!(normalized.boundaries, ["0x00000000", "0x80000000", "0xffffffff"]);
        assert_eq!(normalized.num_bundles, 2);
        assert_eq!(normalized.normalized().unwrap(), normalized);
        let only_a_number = BundlesData { boundaries: Vec::new(), num_bundles: 4 };
        assert_eq!(only_a_number.normalized().unwrap(), BundlesData::equal(4).unwrap());
    }

    #[test]
    fn boundaries_that_do_not_cover_the_range_are_refused() {
        for bad in [
            &["0x00000000", "0x80000000"][..],
            &["0x00000001", "0xffffffff"],
            &["0x00000000", "0x100000000", "0xffffffff"],
            &["0x00000000", "zz", "0xffffffff"],
            &["0x00000000", "-0x1", "0xffffffff"],
        ] {
            assert!(matches!(boundaries(bad).normalized(), Err(Error::Invalid { .. })), "{bad:?}");
        }
        assert!(boundaries(&[]).normalized().is_err());
    }
}
