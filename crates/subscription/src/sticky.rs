//! Which key an entry has, and the hash it is routed by.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::murmur3::murmur3_32;

/// Base64 as Java reads it: with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The key of an entry that names none and whose producer is unknown.
const NONE_KEY: &[u8] = b"NONE_KEY";

/// The greatest sticky hash; 0 stands for "no hash".
pub const MAX_HASH: u16 = u16::MAX;

/// What the (outer) metadata of an entry says that can be a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyFacts<'a> {
    /// The ordering key; an empty one counts as present.
    pub ordering_key: Option<&'a [u8]>,
    /// The partition key; an empty one counts as present.
    pub partition_key: Option<&'a str>,
    /// Whether the partition key is Base64 of the key.
    pub partition_key_b64: bool,
    /// The producer's name.
    pub producer_name: Option<&'a str>,
    /// The (first) sequence id; prints signed.
    pub sequence_id: Option<u64>,
}

impl<'a> KeyFacts<'a> {
    /// The key: the ordering key, else the partition key, else `producer-sequence`, else a constant. A partition key
    /// that is not the Base64 it claims to be counts as absent, key of no one.
    pub fn key(&self) -> Cow<'a, [u8]> {
        if let Some(key) = self.ordering_key {
            return Cow::Borrowed(key);
        }
        if let Some(key) = self.partition_key {
            if !self.partition_key_b64 {
                return Cow::Borrowed(key.as_bytes());
            }
            return BASE64.decode(key).map_or(Cow::Borrowed(NONE_KEY), Cow::Owned);
        }
        match (self.producer_name, self.sequence_id) {
            (Some(name), Some(sequence)) => Cow::Owned(format!("{name}-{}", sequence as i64).into_bytes()),
            _ => Cow::Borrowed(NONE_KEY),
        }
    }

    /// The Murmur3 hash of the key, from which each selector derives its sticky hash.
    pub fn hash(&self) -> u32 {
        murmur3_32(&self.key())
    }
}

/// The sticky hash of a Murmur3 hash for consistent hashing on a ring of `range_max` places: 1..=`range_max`.
pub fn ring_hash(murmur: u32, range_max: u16) -> u16 {
    (murmur % u32::from(range_max.max(1))) as u16 + 1
}

/// The sticky hash of a Murmur3 hash for ranges (auto-split and exclusive): of 0..`range_size`, with 0 replaced by 1
/// because 0 stands for "no hash". `range_size` is at most 65536.
pub fn range_hash(murmur: u32, range_size: u32) -> u16 {
    ((murmur % range_size.max(1)) as u16).max(1)
}
