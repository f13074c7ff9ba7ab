//! Lists of topic names: their hash, and filtering by a pattern.

use regex::Regex;

use crate::names::InvalidName;

/// The hash by which client and broker agree that their lists are the same: CRC-32C of the names, sorted by UTF-16 code
/// units and joined by commas, as hex of its little-endian bytes.
pub fn hash<S: AsRef<str>>(names: &[S]) -> String {
    let mut sorted: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
    let mut crc = 0;
    for (at, name) in sorted.iter().enumerate() {
        if at > 0 {
            crc = crc32c::crc32c_append(crc, b",");
        }
        crc = crc32c::crc32c_append(crc, name.as_bytes());
    }
    format!("{:08x}", crc.swap_bytes())
}

/// A pattern over topic names without their domain and partition suffix, which must match as a whole. Time is linear
/// in the name's length.
#[derive(Debug, Clone)]
pub struct TopicPattern(Regex);

impl TopicPattern {
    /// Compiles a pattern in RE2 syntax; a domain at its beginning is dropped.
    pub fn new(pattern: &str) -> Result<Self, InvalidName> {
        let pattern = without_domain(pattern)?;
        // Compiled by itself first, so that a parenthesis can't close the group around it.
        let whole = Regex::new(&pattern).and_then(|_| Regex::new(&format!(r"\A(?:{pattern})\z")));
        whole.map(Self).map_err(|error| InvalidName(format!("Invalid topics pattern: {error}")))
    }

    /// Whether a full topic name matches.
    pub fn matches(&self, topic: &str) -> bool {
        let name = topic.split_once("://").map_or(topic, |(_, name)| name);
        self.0.is_match(without_partition(name))
    }
}

fn without_domain(pattern: &str) -> Result<String, InvalidName> {
    let Some((domain, rest)) = pattern.split_once("://") else { return Ok(pattern.to_owned()) };
    let before = domain.strip_suffix("non-persistent").or_else(|| domain.strip_suffix("persistent"));
    match before {
        Some(before) => Ok(format!("{before}{rest}")),
        None => Err(InvalidName(format!("Does not support topic domain: {domain}"))),
    }
}

fn without_partition(name: &str) -> &str {
    match name.rsplit_once("-partition-") {
        Some((base, index)) if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_dropped_from_a_pattern() {
        assert_eq!(without_domain("^persistent://t/n/.*").unwrap(), "^t/n/.*");
        assert_eq!(without_domain("non-persistent://t/n/.*").unwrap(), "t/n/.*");
        let error = without_domain("(persistent|non-persistent)://t/n/.*").unwrap_err();
        assert_eq!(error.0, "Does not support topic domain: (persistent|non-persistent)");
    }

    #[test]
    fn a_broken_pattern_is_refused() {
        assert!(TopicPattern::new("t/n/(").is_err());
        assert!(TopicPattern::new(r"t/n/(a)\1").is_err());
        assert!(TopicPattern::new("a)|(?:b").is_err());
    }
}
