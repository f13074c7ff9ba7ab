//! The durable state of a topic's cursors and deduplication, and the changes it undergoes.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use plerion_subscription::cursor::Cursor;

use crate::Properties;
use crate::codec::{self, Malformed, Put, Take};

mod checkpoint;

pub(crate) use checkpoint::{recover, write};

const VERSION: u8 = 1;

/// A change of a topic's durable state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A cursor was made, or its whole state replaced.
    Created { cursor: Rc<str>, snapshot: Bytes, properties: Properties },
    /// A cursor moved.
    Moved { cursor: Rc<str>, delta: Bytes },
    /// A cursor got other properties.
    Described { cursor: Rc<str>, properties: Properties },
    /// A cursor was deleted.
    Deleted { cursor: Rc<str> },
    /// The state of the deduplication was replaced.
    Dedup { snapshot: Bytes },
}

impl Change {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Created { cursor, snapshot, properties } => {
                out.put_varint(0);
                out.put_block(cursor.as_bytes());
                out.put_block(snapshot);
                out.put_map(properties);
            }
            Self::Moved { cursor, delta } => {
                out.put_varint(1);
                out.put_block(cursor.as_bytes());
                out.put_block(delta);
            }
            Self::Described { cursor, properties } => {
                out.put_varint(2);
                out.put_block(cursor.as_bytes());
                out.put_map(properties);
            }
            Self::Deleted { cursor } => {
                out.put_varint(3);
                out.put_block(cursor.as_bytes());
            }
            Self::Dedup { snapshot } => {
                out.put_varint(4);
                out.put_block(snapshot);
            }
        }
    }

    pub(crate) fn decode(take: &mut Take) -> Result<Self, Malformed> {
        let kind = take.int()?;
        if kind == 4 {
            return Ok(Self::Dedup { snapshot: take.block()? });
        }
        let cursor = Rc::from(take.string()?);
        match kind {
            0 => Ok(Self::Created { cursor, snapshot: take.block()?, properties: take.map()? }),
            1 => Ok(Self::Moved { cursor, delta: take.block()? }),
            2 => Ok(Self::Described { cursor, properties: take.map()? }),
            3 => Ok(Self::Deleted { cursor }),
            _ => Err("a change is of an unknown kind"),
        }
    }
}

/// The durable state of one cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CursorState {
    pub(crate) snapshot: Bytes,
    /// What happened since the snapshot.
    pub(crate) deltas: Vec<Bytes>,
    pub(crate) properties: Properties,
}

impl CursorState {
    fn merge(&mut self) -> Result<(), plerion_subscription::cursor::Error> {
        if !self.deltas.is_empty() {
            let mut cursor = Cursor::restore(&self.snapshot)?;
            self.deltas.drain(..).try_for_each(|delta| cursor.apply(&delta))?;
            self.snapshot = Bytes::from(cursor.snapshot());
        }
        Ok(())
    }
}

/// The durable state of one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopicState {
    pub(crate) cursors: BTreeMap<Rc<str>, CursorState>,
    pub(crate) dedup: Option<Bytes>,
}

impl TopicState {
    /// Applies a change. One for a cursor that is not there has been overtaken by its deletion.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Created { cursor, snapshot, properties } => {
                self.cursors.insert(cursor, CursorState { snapshot, deltas: Vec::new(), properties });
            }
            Change::Moved { cursor, delta } => {
                if let Some(state) = self.cursors.get_mut(&cursor) {
                    state.deltas.push(delta);
                }
            }
            Change::Described { cursor, properties } => {
                if let Some(state) = self.cursors.get_mut(&cursor) {
                    state.properties = properties;
                }
            }
            Change::Deleted { cursor } => {
                self.cursors.remove(&cursor);
            }
            Change::Dedup { snapshot } => self.dedup = Some(snapshot),
        }
    }

    /// Puts the deltas of every cursor into its snapshot. The error names the cursor that cannot be understood.
    pub(crate) fn merge(&mut self) -> Result<(), String> {
        for (name, state) in &mut self.cursors {
            state.merge().map_err(|error| format!("cursor {name:?}: {error}"))?;
        }
        Ok(())
    }

    /// The binary form; nothing at all for a state that holds nothing.
    pub(crate) fn encode(&self) -> Bytes {
        debug_assert!(self.cursors.values().all(|state| state.deltas.is_empty()), "deltas are merged first");
        if *self == Self::default() {
            return Bytes::new();
        }
        codec::seal(VERSION, |out| {
            out.put_varint(self.cursors.len() as u64);
            for (name, state) in &self.cursors {
                out.put_block(name.as_bytes());
                out.put_block(&state.snapshot);
                out.put_map(&state.properties);
            }
            out.put_option(self.dedup.as_deref(), Put::put_block);
        })
    }

    pub(crate) fn decode(bytes: Bytes) -> Result<Self, Malformed> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut take = codec::open(VERSION, bytes)?;
        let cursors = take.list(|take| {
            let name = Rc::from(take.string()?);
            let (snapshot, properties) = (take.block()?, take.map()?);
            Ok((name, CursorState { snapshot, deltas: Vec::new(), properties }))
        })?;
        Ok(Self { cursors, dedup: take.option(Take::block)? })
    }
}

#[cfg(test)]
mod tests;
