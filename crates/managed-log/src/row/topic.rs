//! The row of a topic: its ledgers, and what must survive its owner.

use std::collections::BTreeMap;

use bytes::Bytes;
use plerion_ledger::{Closed, Epoch, LedgerId};
use plerion_subscription::Position;

use super::Stored;
use crate::codec::{self, Malformed, Put};

const VERSION: u8 = 1;

/// Names with values, of a topic or a cursor.
pub type Properties = BTreeMap<String, String>;

/// A ledger of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerInfo {
    /// The ledger.
    pub id: LedgerId,
    /// How many entries it has.
    pub entries: u64,
    /// The sum of their lengths, in bytes.
    pub bytes: u64,
    /// When it was sealed, in milliseconds since the Unix epoch; `None` while it is written to.
    pub sealed_ms: Option<u64>,
}

impl LedgerInfo {
    pub(crate) fn open(id: LedgerId) -> Self {
        Self { id, entries: 0, bytes: 0, sealed_ms: None }
    }

    pub(crate) fn sealed(id: LedgerId, state: Closed, now_ms: u64) -> Self {
        let entries = state.last.map_or(0, |last| last.saturating_add(1));
        Self { id, entries, bytes: state.length, sealed_ms: Some(now_ms) }
    }

    /// The position of its last entry, or the place before its first when it is empty.
    pub(crate) fn last(&self) -> Position {
        Position::new(self.id.0.cast_signed(), self.entries.cast_signed() - 1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicRow {
    /// Who owned the topic last.
    pub(crate) owner: Epoch,
    /// The ledgers, ascending; only the last may be open.
    pub(crate) ledgers: Vec<LedgerInfo>,
    /// Ledgers to delete that may still be there.
    pub(crate) doomed: Vec<LedgerId>,
    /// The last entry ever deleted.
    pub(crate) trimmed: Option<Position>,
    /// The last entry of a topic that takes no more.
    pub(crate) terminated: Option<Position>,
    /// The term of the topic's exclusive producer.
    pub(crate) topic_epoch: Option<u64>,
    pub(crate) properties: Properties,
    pub(crate) checkpoint: Checkpoint,
}

/// The state of a topic's cursors and deduplication at one point of the state log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Records of the state log up to this one are contained.
    pub(crate) sequence: u64,
    pub(crate) state: State,
}

/// Where the state of a checkpoint is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Inline(Bytes),
    /// In a ledger of its own, because it is larger than a row should be.
    Ledger(LedgerId),
}

impl Default for State {
    fn default() -> Self {
        Self::Inline(Bytes::new())
    }
}

impl TopicRow {
    /// The row of a topic that has nothing yet.
    pub(crate) fn new(owner: Epoch, sequence: u64) -> Self {
        Self {
            owner,
            ledgers: Vec::new(),
            doomed: Vec::new(),
            trimmed: None,
            terminated: None,
            topic_epoch: None,
            properties: Properties::new(),
            checkpoint: Checkpoint { sequence, state: State::default() },
        }
    }

    /// The ledger that was left open, if any.
    pub(crate) fn open_ledger(&self) -> Option<LedgerId> {
        self.ledgers.last().filter(|ledger| ledger.sealed_ms.is_none()).map(|ledger| ledger.id)
    }

    /// Whether the row holds what is only ever written durably.
    pub(crate) fn had_synced_write(&self) -> bool {
        !self.ledgers.is_empty() || self.trimmed.is_some() || self.checkpoint.state != State::default()
    }

    /// Notes the final state of the open ledger; an empty one is not worth keeping.
    pub(crate) fn seal(&mut self, sealed: LedgerInfo) {
        if let Some(at) = self.ledgers.iter().position(|ledger| ledger.id == sealed.id) {
            if sealed.entries > 0 {
                self.ledgers[at] = sealed;
            } else {
                self.ledgers.remove(at);
                self.doomed.push(sealed.id);
            }
        }
    }
}

impl Stored for TopicRow {
    fn encode(&self) -> Bytes {
        codec::seal(VERSION, |out| {
            out.put_varint(self.owner.0);
            out.put_varint(self.ledgers.len() as u64);
            for ledger in &self.ledgers {
                out.put_varint(ledger.id.0);
                out.put_varint(ledger.entries);
                out.put_varint(ledger.bytes);
                out.put_option(ledger.sealed_ms, Put::put_varint);
            }
            out.put_varint(self.doomed.len() as u64);
            self.doomed.iter().for_each(|id| out.put_varint(id.0));
            out.put_option(self.trimmed, Put::put_position);
            out.put_option(self.terminated, Put::put_position);
            out.put_option(self.topic_epoch, Put::put_varint);
            out.put_map(&self.properties);
            out.put_varint(self.checkpoint.sequence);
            match &self.checkpoint.state {
                State::Inline(state) => {
                    out.put_varint(0);
                    out.put_block(state);
                }
                State::Ledger(id) => {
                    out.put_varint(1);
                    out.put_varint(id.0);
                }
            }
        })
    }

    fn decode(bytes: Bytes) -> Result<Self, Malformed> {
        let mut take = codec::open(VERSION, bytes)?;
        Ok(Self {
            owner: Epoch(take.int()?),
            ledgers: take.list(|take| {
                Ok(LedgerInfo {
                    id: LedgerId(take.int()?),
                    entries: take.int()?,
                    bytes: take.int()?,
                    sealed_ms: take.option(codec::Take::int)?,
                })
            })?,
            doomed: take.list(|take| Ok(LedgerId(take.int()?)))?,
            trimmed: take.option(codec::Take::position)?,
            terminated: take.option(codec::Take::position)?,
            topic_epoch: take.option(codec::Take::int)?,
            properties: take.map()?,
            checkpoint: Checkpoint {
                sequence: take.int()?,
                state: match take.int()? {
                    0 => State::Inline(take.block()?),
                    1 => State::Ledger(LedgerId(take.int()?)),
                    _ => return Err("its checkpoint is in no known place"),
                },
            },
        })
    }

    fn doomed(&mut self) -> &mut Vec<LedgerId> {
        &mut self.doomed
    }
}
