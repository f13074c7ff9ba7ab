//! The checksum of payloads.

/// CRC-32C (Castagnoli) of `bytes`, as Pulsar writes it.
#[must_use]
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// The CRC-32C of what `crc` is of, followed by `bytes`.
#[must_use]
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(crc, bytes)
}
