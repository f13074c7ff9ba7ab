//! How JSON of other programs is read.

use serde::{Deserialize, Deserializer};

/// Reads `null` like an absent key: programs write it for lists and maps they left empty.
pub(crate) fn null_is_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
