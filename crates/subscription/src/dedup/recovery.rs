//! The marks as they were when a topic was last loaded.
//!
//! A snapshot is `version u8 = 1 · ledger i64 · entry i64 · u32 names {u32 length, UTF-8, i64 sequence id}`,
//! little-endian.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Dedup, Marks, Sequence};
use crate::Position;

const VERSION: u8 = 1;

/// Why bytes are not a snapshot. Trying again with the same bytes cannot help; replaying the whole log does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The snapshot was written in another format.
    #[error("deduplication snapshot of version {0}, {VERSION} is the one known")]
    Version(u8),
    /// The snapshot ends too early or holds what cannot be.
    #[error("deduplication snapshot is damaged at {0}")]
    Damaged(&'static str),
}

impl Error {
    /// Whether the same call can succeed later: never, the bytes stay as they are.
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

/// Marks in the making. They are of no use before [`Recovery::finish`], so that nobody sees half of them.
#[derive(Clone, Debug)]
pub struct Recovery {
    dedup: Dedup,
    after: Position,
    now_ms: u64,
}

impl Recovery {
    /// Begins without a snapshot: every entry of the log is to be replayed. `now_ms` counts as the time since which
    /// the producers are idle.
    pub fn empty(now_ms: u64) -> Self {
        Self { dedup: Dedup::default(), after: Position::EARLIEST, now_ms }
    }

    /// Begins with a snapshot.
    ///
    /// # Errors
    /// If the bytes are none.
    pub fn new(snapshot: &[u8], now_ms: u64) -> Result<Self, Error> {
        let mut recovery = Self::empty(now_ms);
        let (version, rest) = snapshot.split_first().ok_or(Error::Damaged("version"))?;
        if *version != VERSION {
            return Err(Error::Version(*version));
        }
        let mut input = rest;
        recovery.after.ledger = i64::from_le_bytes(take(&mut input, "ledger")?);
        recovery.after.entry = i64::from_le_bytes(take(&mut input, "entry")?);
        for _ in 0..u32::from_le_bytes(take(&mut input, "count")?) {
            let length = u32::from_le_bytes(take(&mut input, "name length")?) as usize;
            let (name, rest) = input.split_at_checked(length).ok_or(Error::Damaged("name"))?;
            input = rest;
            let name = str::from_utf8(name).map_err(|_| Error::Damaged("name"))?;
            recovery.set(name, i64::from_le_bytes(take(&mut input, "sequence id")?));
        }
        if input.is_empty() { Ok(recovery) } else { Err(Error::Damaged("end")) }
    }

    /// Entries after this position are to be replayed.
    pub fn after(&self) -> Position {
        self.after
    }

    /// Replays an entry, in the log's order. The latest one of a producer counts, even if its sequence id is lower: the
    /// topic may have stored it while it did not deduplicate.
    pub fn replay(&mut self, producer: &str, sequence: Sequence) {
        if !sequence.partial_chunk {
            self.set(producer, sequence.highest);
        }
    }

    /// The marks.
    pub fn finish(self) -> Dedup {
        self.dedup
    }

    fn set(&mut self, producer: &str, sequence: i64) {
        let now_ms = self.now_ms;
        let marks = self.dedup.marks(producer);
        *marks = Marks { pushed: Some(sequence), persisted: Some(sequence), idle_since_ms: Some(now_ms) };
    }
}

pub(super) fn encode(position: Position, producers: &HashMap<Box<str>, Marks>, max: usize) -> Vec<u8> {
    let mut names: Vec<_> = producers
        .iter()
        .filter_map(|(name, marks)| {
            let idle = marks.idle_since_ms;
            Some((idle.is_some(), Reverse(idle), &**name, marks.persisted?))
        })
        .collect();
    names.sort_unstable();
    names.truncate(max);
    let mut out = vec![VERSION];
    out.extend(position.ledger.to_le_bytes());
    out.extend(position.entry.to_le_bytes());
    out.extend((names.len() as u32).to_le_bytes());
    for (_, _, name, sequence) in names {
        out.extend((name.len() as u32).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(sequence.to_le_bytes());
    }
    out
}

fn take<const N: usize>(input: &mut &[u8], what: &'static str) -> Result<[u8; N], Error> {
    let (head, rest) = input.split_first_chunk().ok_or(Error::Damaged(what))?;
    *input = rest;
    Ok(*head)
}
