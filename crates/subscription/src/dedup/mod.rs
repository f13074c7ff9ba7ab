//! Which published messages a topic has already.
//!
//! Each producer numbers its messages; per producer name two marks are kept: the highest sequence id *pushed* to the
//! log and the highest one *persisted* there. A message is a duplicate only if it is persisted; one that is merely
//! pushed is undecided, because its write can still fail. The marks of a topic come from a snapshot and a replay of
//! the entries after it, through a [`Recovery`]; until that is finished there are none to ask.

mod recovery;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use recovery::{Error, Recovery};

use crate::Position;

/// Whether a message is to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Store it.
    New,
    /// It is stored: answer with a receipt without a position.
    Duplicate,
    /// It is on its way to the log, or the marks are not known yet: let the producer send it again.
    Undecided,
}

/// A message as its producer numbered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The (first) sequence id.
    pub first: i64,
    /// The last one of a batch; of single messages the first.
    pub highest: i64,
    /// Whether this is a chunk other than the last one of its message; those carry no mark, all chunks of a message
    /// have the same sequence id.
    pub partial_chunk: bool,
}

impl Sequence {
    /// A message or batch that is not chunked, or the last chunk.
    pub fn new(first: i64, highest: Option<i64>) -> Self {
        Self { first, highest: highest.unwrap_or(first).max(first), partial_chunk: false }
    }

    /// Chunk `id` of `count`.
    pub fn chunk(first: i64, id: i32, count: i32) -> Self {
        Self { partial_chunk: id.saturating_add(1) < count, ..Self::new(first, None) }
    }
}

/// Whether a topic deduplicates. A topic recovers once at a time: whoever finds it recovering waits for that.
#[derive(Clone, Debug, Default)]
pub enum State {
    /// It does not.
    #[default]
    Disabled,
    /// The marks are being recovered; every message is undecided.
    Recovering,
    /// It does.
    Ready(Dedup),
}

impl State {
    /// Begins to recover; false if that goes on, or is done.
    pub fn begin(&mut self) -> bool {
        let begins = matches!(self, Self::Disabled);
        if begins {
            *self = Self::Recovering;
        }
        begins
    }

    /// Ends a recovery with its marks, or without if it failed: it can begin anew then. Ignored when deduplication was
    /// disabled meanwhile.
    pub fn finish(&mut self, outcome: Option<Dedup>) {
        if matches!(self, Self::Recovering) {
            *self = outcome.map_or(Self::Disabled, Self::Ready);
        }
    }

    /// Decides about a message and, if it is new, marks it as pushed.
    pub fn decide(&mut self, producer: &str, sequence: Sequence) -> Decision {
        match self {
            Self::Disabled => Decision::New,
            Self::Recovering => Decision::Undecided,
            Self::Ready(dedup) => dedup.decide(producer, sequence),
        }
    }

    /// The last sequence id persisted for a producer name; −1 if there is none or the topic does not deduplicate.
    pub fn last_sequence_id(&self, producer: &str) -> i64 {
        match self {
            Self::Ready(dedup) => dedup.last_sequence_id(producer),
            _ => -1,
        }
    }

    /// The marks, if the topic deduplicates and knows them.
    pub fn ready(&mut self) -> Option<&mut Dedup> {
        match self {
            Self::Ready(dedup) => Some(dedup),
            _ => None,
        }
    }
}

/// The marks of a topic.
#[derive(Clone, Debug, Default)]
pub struct Dedup {
    producers: HashMap<Box<str>, Marks>,
}

#[derive(Clone, Copy, Debug)]
struct Marks {
    pushed: Option<i64>,
    persisted: Option<i64>,
    /// When the producer left, in milliseconds of the epoch; `None` while it is connected.
    idle_since_ms: Option<u64>,
}

impl Dedup {
    /// Decides about a message and, if it is new, marks it as pushed.
    pub fn decide(&mut self, producer: &str, sequence: Sequence) -> Decision {
        if sequence.partial_chunk {
            return Decision::New;
        }
        let marks = self.marks(producer);
        if marks.persisted.is_some_and(|persisted| sequence.first <= persisted) {
            return Decision::Duplicate;
        }
        if marks.pushed.is_some_and(|pushed| sequence.first <= pushed) {
            return Decision::Undecided;
        }
        marks.pushed = Some(sequence.highest);
        Decision::New
    }

    /// Notes that a new message is stored.
    pub fn persisted(&mut self, producer: &str, sequence: Sequence) {
        if !sequence.partial_chunk {
            let marks = self.marks(producer);
            marks.persisted = marks.persisted.max(Some(sequence.highest));
        }
    }

    /// Notes that a write of the producer failed, and with it, as in any log, all later ones: what is not persisted
    /// counts as not pushed, so that it can be sent again.
    pub fn failed(&mut self, producer: &str) {
        let marks = self.marks(producer);
        marks.pushed = marks.persisted;
    }

    /// The last sequence id persisted for a producer name, −1 if there is none.
    pub fn last_sequence_id(&self, producer: &str) -> i64 {
        self.producers.get(producer).and_then(|marks| marks.persisted).unwrap_or(-1)
    }

    /// Notes that a producer is connected.
    pub fn connected(&mut self, producer: &str) {
        self.marks(producer).idle_since_ms = None;
    }

    /// Notes that a producer left at `now_ms`.
    pub fn left(&mut self, producer: &str, now_ms: u64) {
        if let Some(marks) = self.producers.get_mut(producer) {
            marks.idle_since_ms = Some(now_ms);
        }
    }

    /// Forgets the names without a connected producer for at least `idle_ms`; how many.
    pub fn purge(&mut self, now_ms: u64, idle_ms: u64) -> usize {
        let before = self.producers.len();
        self.producers
            .retain(|_, marks| marks.idle_since_ms.is_none_or(|since| now_ms.saturating_sub(since) < idle_ms));
        before - self.producers.len()
    }

    /// How many names are known.
    pub fn len(&self) -> usize {
        self.producers.len()
    }

    /// Whether no name is known.
    pub fn is_empty(&self) -> bool {
        self.producers.is_empty()
    }

    /// The persisted marks, for [`Recovery::new`], of at most `max_producers` names: connected ones first, then those
    /// that left last. They cover every entry up to `position`, and maybe some after it.
    pub fn snapshot(&self, position: Position, max_producers: usize) -> Vec<u8> {
        recovery::encode(position, &self.producers, max_producers)
    }

    fn marks(&mut self, producer: &str) -> &mut Marks {
        if !self.producers.contains_key(producer) {
            self.producers.insert(producer.into(), Marks { pushed: None, persisted: None, idle_since_ms: None });
        }
        self.producers.get_mut(producer).expect("inserted above if it was absent")
    }
}
