//! The hash that places a topic on its namespace's ring.

/// The ring position of a topic: CRC-32 (IEEE 802.3, as zlib computes it) of the UTF-8 bytes of the *complete* name,
/// domain included (`persistent://tenant/namespace/local`, a partition with its `-partition-N` suffix).
///
/// This is the assignment of Pulsar's `ConsistentHashingTopicBundleAssigner`, so the bundle of a topic is the same here.
#[must_use]
pub fn topic_hash(topic: &str) -> u32 {
    crc32fast::hash(topic.as_bytes())
}
