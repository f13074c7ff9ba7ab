//! Murmur3, the hash of keys and names in Pulsar.

/// The 32 bit Murmur3 hash of `bytes` with seed 0 and the sign bit cleared, so 0..2³¹.
pub fn murmur3_32(bytes: &[u8]) -> u32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = 0u32;
    for block in blocks {
        hash ^= scramble(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let tail = tail.iter().rev().fold(0u32, |word, &byte| (word << 8) | u32::from(byte));
    hash ^= scramble(tail);
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)) & 0x7fff_ffff
}

fn scramble(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}
