//! Numbers, times and shares of a scenario file, each refused with what would be accepted.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

macro_rules! bounded {
    ($(#[$doc:meta])* $name:ident, $range:expr, $accepted:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = deserializer.deserialize_any(Number($accepted))?;
                if $range.contains(&value) {
                    Ok(Self(value))
                } else {
                    Err(de::Error::custom(format_args!("{value} is not accepted: write {}", $accepted)))
                }
            }
        }
    };
}

bounded! {
    /// A part of a whole, from 0 to 1.
    Share, (0.0..=1.0), "a number from 0 to 1"
}

bounded! {
    /// A use of capacity, 1 being all of it. More than there is may be asked for.
    Usage, (0.0..=4.0), "a share of the capacity, from 0 to 4"
}

bounded! {
    /// A positive amount.
    Amount, (1e-9..=1e15), "a number above 0"
}

bounded! {
    /// A number that may be 0.
    Level, (0.0..=1e6), "a number from 0 to 1000000"
}

struct Number(&'static str);

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    #[expect(clippy::cast_precision_loss, reason = "no bound is near the limit of precision")]
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }
}

/// A whole number from 1 to 10 million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const ACCEPTED: &str = "a whole number from 1 to 10000000";
        let value = i64::deserialize(deserializer)?;
        match u32::try_from(value) {
            Ok(count @ 1..=10_000_000) => Ok(Self(count)),
            _ => Err(de::Error::custom(format_args!("{value} is not accepted: write {ACCEPTED}"))),
        }
    }
}

/// A length of time in seconds, written as `90s`, `15m`, `1h30m` or `2d`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

const TIMES: &str = "a time such as \"30s\", \"5m\", \"1h30m\" or \"2d\"";

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Time)
    }
}

struct Time;

impl Visitor<'_> for Time {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TIMES)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Seconds, E> {
        seconds(text)
            .map(Seconds)
            .ok_or_else(|| de::Error::custom(format_args!("{text:?} is not accepted: write {TIMES}")))
    }
}

/// The seconds in `text`; `None` if it is no time, or a year or more.
fn seconds(text: &str) -> Option<f64> {
    const YEAR: f64 = 366.0 * 86_400.0;
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let unit_end = rest[digits..].find(|c: char| !c.is_ascii_alphabetic()).map_or(rest.len(), |end| digits + end);
        let unit = match &rest[digits..unit_end] {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total += rest[..digits].parse::<f64>().ok()? * unit;
        rest = &rest[unit_end..];
    }
    (!text.is_empty() && total < YEAR).then_some(total)
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            s if s >= 7_200.0 => write!(f, "{:.1} h", s / 3_600.0),
            s if s >= 120.0 => write!(f, "{:.1} min", s / 60.0),
            s => write!(f, "{s:.0} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(seconds("90s"), Some(90.0));
        assert_eq!(seconds("1h30m"), Some(5_400.0));
        assert_eq!(seconds("0.5d"), Some(43_200.0));
        for bad in ["", "5", "m", "5x", "1h 2m", "-5s", "900d"] {
            assert_eq!(seconds(bad), None, "{bad:?}");
        }
    }
}
