//! What dispatch has to know of an entry, read from its metadata.

use std::hash::{Hash, Hasher};

use bytes::Bytes;
use plerion_managed_log::{ManagedLog, ReadFailure};
use plerion_subscription::dispatcher::{Chunk, Facts};
use plerion_subscription::{Layout, Position, sticky};
use plerion_wire::{MessageMetadata, Payload};
use rustc_hash::FxHasher;

/// An entry's facts, and what the broker itself looks at.
pub(crate) struct Peeked {
    pub(crate) facts: Facts,
    /// A marker is no message: it is acknowledged, never delivered.
    pub(crate) is_marker: bool,
}

/// Reads what dispatch needs. An entry whose metadata cannot be read counts as one message without a key: it is for
/// the client to say what is wrong with it.
pub(crate) fn peek(position: Position, entry: &[u8], by_key: bool) -> Peeked {
    let plain = Facts { position, messages: 1, key_hash: 0, deliver_at: None, chunk: None };
    let Some(metadata) = metadata(entry) else { return Peeked { facts: plain, is_marker: false } };
    let facts = Facts {
        messages: metadata.num_messages(),
        key_hash: if by_key { key_hash(&metadata) } else { 0 },
        deliver_at: metadata.deliver_at_time.and_then(|at| u64::try_from(at).ok()).filter(|at| *at > 0),
        chunk: chunk(&metadata),
        ..plain
    };
    Peeked { facts, is_marker: metadata.marker_type.is_some() }
}

/// The metadata of a stored entry, if it can be read.
pub(crate) fn metadata(entry: &[u8]) -> Option<MessageMetadata<'_>> {
    MessageMetadata::peek(Payload::parse(entry).ok()?.metadata).ok()
}

/// When an entry was published, in ms since the epoch.
pub(crate) fn publish_time(entry: &Bytes) -> Option<u64> {
    metadata(entry).map(|metadata| metadata.publish_time)
}

/// The first entry published at `at`, in ms since the epoch, or later; the end of the log if there is none.
pub(crate) async fn first_published_at(log: &ManagedLog, at: u64) -> Result<Position, ReadFailure> {
    let earlier = log.find_by_publish_time(at, publish_time).await?;
    Ok(earlier.map_or_else(|| log.first(), |last| Position::new(last.ledger, last.entry + 1)))
}

pub(crate) fn key_hash(metadata: &MessageMetadata<'_>) -> u32 {
    sticky::KeyFacts {
        ordering_key: metadata.ordering_key,
        partition_key: metadata.partition_key,
        partition_key_b64: metadata.partition_key_b64_encoded,
        producer_name: Some(metadata.producer_name),
        sequence_id: Some(metadata.sequence_id),
    }
    .hash()
}

fn chunk(metadata: &MessageMetadata<'_>) -> Option<Chunk> {
    let count = u32::try_from(metadata.num_chunks_from_msg?).ok().filter(|count| *count > 1)?;
    let id = u32::try_from(metadata.chunk_id?).ok()?;
    let mut hasher = FxHasher::default();
    metadata.uuid?.hash(&mut hasher);
    Some(Chunk { message: hasher.finish(), id, count })
}
