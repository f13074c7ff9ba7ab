//! Numbers, and the quantities they stand for.

use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::Kind;

/// A kind that is written as a whole number.
pub(crate) trait Whole {
    /// What the number becomes.
    type Value;

    /// What one stands for.
    const UNIT: Option<&'static str>;

    /// The numbers that `Value` can hold.
    const HOLDS: RangeInclusive<i64>;

    /// The value for a number that is within `HOLDS`.
    fn from_number(number: i64) -> Self::Value;
}

fn bounds<W: Whole>(within: Option<&RangeInclusive<i64>>) -> (i64, i64) {
    let within = within.unwrap_or(&W::HOLDS);
    (*within.start().max(W::HOLDS.start()), *within.end().min(W::HOLDS.end()))
}

fn describe(unit: Option<&str>, (low, high): (i64, i64)) -> String {
    let of = unit.map_or_else(String::new, |unit| format!(" of {unit}"));
    format!("a whole number{of} from {low} to {high}")
}

impl<W: Whole> Kind for W {
    type Value = W::Value;
    const UNIT: Option<&'static str> = W::UNIT;

    fn parse(text: &str, within: Option<&RangeInclusive<i64>>) -> Option<Self::Value> {
        let (low, high) = bounds::<W>(within);
        text.parse().ok().filter(|number| (low..=high).contains(number)).map(W::from_number)
    }

    fn accepts(within: Option<&RangeInclusive<i64>>) -> String {
        describe(W::UNIT, bounds::<W>(within))
    }
}

const U32: RangeInclusive<i64> = 0..=u32::MAX as i64;
const MIB: u64 = 1 << 20;

/// How many of something.
pub(crate) struct Count;

impl Whole for Count {
    type Value = u32;
    const UNIT: Option<&'static str> = None;
    const HOLDS: RangeInclusive<i64> = U32;

    fn from_number(number: i64) -> u32 {
        number as u32
    }
}

/// A number with its sign, for keys whose negative values have a meaning of their own.
pub(crate) struct Signed<U>(PhantomData<U>);

impl<U: Whole> Whole for Signed<U> {
    type Value = i64;
    const UNIT: Option<&'static str> = U::UNIT;
    const HOLDS: RangeInclusive<i64> = i32::MIN as i64..=i32::MAX as i64;

    fn from_number(number: i64) -> i64 {
        number
    }
}

/// Bytes.
pub(crate) struct Bytes;

impl Whole for Bytes {
    type Value = u64;
    const UNIT: Option<&'static str> = Some("bytes");
    const HOLDS: RangeInclusive<i64> = 0..=i64::MAX;

    fn from_number(number: i64) -> u64 {
        number as u64
    }
}

/// Written in MiB, kept in bytes.
pub(crate) struct Megabytes;

impl Whole for Megabytes {
    type Value = u64;
    const UNIT: Option<&'static str> = Some("MiB");
    const HOLDS: RangeInclusive<i64> = U32;

    fn from_number(number: i64) -> u64 {
        number as u64 * MIB
    }
}

/// Milliseconds.
pub(crate) struct Millis;

impl Whole for Millis {
    type Value = Duration;
    const UNIT: Option<&'static str> = Some("milliseconds");
    const HOLDS: RangeInclusive<i64> = 0..=i64::MAX;

    fn from_number(number: i64) -> Duration {
        Duration::from_millis(number as u64)
    }
}

/// Seconds.
pub(crate) struct Seconds;

impl Whole for Seconds {
    type Value = Duration;
    const UNIT: Option<&'static str> = Some("seconds");
    const HOLDS: RangeInclusive<i64> = U32;

    fn from_number(number: i64) -> Duration {
        Duration::from_secs(number as u64)
    }
}

/// Minutes.
pub(crate) struct Minutes;

impl Whole for Minutes {
    type Value = Duration;
    const UNIT: Option<&'static str> = Some("minutes");
    const HOLDS: RangeInclusive<i64> = U32;

    fn from_number(number: i64) -> Duration {
        Duration::from_secs(number as u64 * 60)
    }
}

/// A quantity where zero, less than zero or, as a default, nothing means that there is none: no limit, no such timer.
pub(crate) struct OrNone<W>(PhantomData<W>);

impl<W: Whole> OrNone<W> {
    fn bounds(within: Option<&RangeInclusive<i64>>) -> (i64, i64) {
        let (low, high) = bounds::<W>(within);
        (low.max(1), high)
    }
}

impl<W: Whole> Kind for OrNone<W> {
    type Value = Option<W::Value>;
    const UNIT: Option<&'static str> = W::UNIT;

    fn parse(text: &str, within: Option<&RangeInclusive<i64>>) -> Option<Self::Value> {
        if text.is_empty() {
            return Some(None);
        }
        let (low, high) = Self::bounds(within);
        match text.parse().ok()? {
            number if number <= 0 => Some(None),
            number => (low..=high).contains(&number).then(|| Some(W::from_number(number))),
        }
    }

    fn accepts(within: Option<&RangeInclusive<i64>>) -> String {
        format!("{}; 0 or a negative number means none", describe(W::UNIT, Self::bounds(within)))
    }
}
