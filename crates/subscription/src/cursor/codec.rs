//! Cursors as bytes: snapshots and deltas.
//!
//! One record is `version u8 = 1 · kind u8 (0 replaces, 1 adds) · mark-delete · u32 pages {ledger i64, high u32,
//! length u32, portable roaring bitmap} · u32 batches {position, u32 words {u64}}`, little-endian; a position is two
//! i64.

use roaring::RoaringBitmap;

use super::batch::Remaining;
use super::holes::{Holes, Page};
use super::{Cursor, State, Unsaved};
use crate::Position;

const VERSION: u8 = 1;
const REPLACES: u8 = 0;
const ADDS: u8 = 1;

/// Why bytes are not a cursor's record. Trying again with the same bytes cannot help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The record was written in another format.
    #[error("cursor record of version {0}, {VERSION} is the one known")]
    Version(u8),
    /// The record ends too early or holds what cannot be.
    #[error("cursor record is damaged at {0}")]
    Damaged(&'static str),
    /// A delta where the whole state is needed.
    #[error("cursor record is a delta, a snapshot is needed to begin with")]
    NotASnapshot,
}

impl Error {
    /// Whether the same call can succeed later: never, the bytes stay as they are.
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

impl Cursor {
    /// The whole state, for [`Cursor::restore`].
    pub fn snapshot(&self) -> Vec<u8> {
        let state = &self.state;
        encode(REPLACES, state.mark_delete, &state.holes, state.batches.iter())
    }

    /// The cursor of a snapshot, with nothing unsaved.
    ///
    /// # Errors
    /// If the bytes are no snapshot.
    pub fn restore(snapshot: &[u8]) -> Result<Self, Error> {
        match decode(snapshot)? {
            (REPLACES, state) => Ok(Self { state, unsaved: Unsaved::default() }),
            _ => Err(Error::NotASnapshot),
        }
    }

    /// Whether anything changed since the last [`Cursor::drain`].
    pub fn is_dirty(&self) -> bool {
        let unsaved = &self.unsaved;
        unsaved.replaced || unsaved.mark_delete || !unsaved.holes.is_empty() || !unsaved.batches.is_empty()
    }

    /// What changed since the last drain, for [`Cursor::apply`]; `None` if nothing did.
    pub fn drain(&mut self) -> Option<Vec<u8>> {
        if !self.is_dirty() {
            return None;
        }
        let mut unsaved = std::mem::take(&mut self.unsaved);
        if unsaved.replaced {
            return Some(self.snapshot());
        }
        let state = &self.state;
        unsaved.holes.remove_up_to(state.mark_delete);
        let batches = unsaved.batches.iter().filter_map(|position| state.batches.get_key_value(position));
        Some(encode(ADDS, state.mark_delete, &unsaved.holes, batches))
    }

    /// Adds a drained delta, which may have been applied before. Unsaved changes of this cursor stay unsaved.
    ///
    /// # Errors
    /// If the bytes are no record; the cursor stays as it was.
    pub fn apply(&mut self, delta: &[u8]) -> Result<(), Error> {
        let (kind, delta) = decode(delta)?;
        if kind == REPLACES {
            self.state = delta;
            return Ok(());
        }
        let state = &mut self.state;
        state.holes.merge(delta.holes);
        for (position, left) in delta.batches {
            state.batches.entry(position).and_modify(|batch| _ = batch.intersect(&left)).or_insert(left);
        }
        state.raise(delta.mark_delete.max(state.mark_delete));
        // A batch of which nothing is left was acknowledged as a whole; if that is not known, delivering again is safe.
        state.batches.retain(|position, left| !left.is_empty() && !state.holes.contains(*position));
        Ok(())
    }
}

fn encode<'a>(
    kind: u8,
    mark_delete: Position,
    holes: &Holes,
    batches: impl Iterator<Item = (&'a Position, &'a Remaining)>,
) -> Vec<u8> {
    let mut out = vec![VERSION, kind];
    put_position(&mut out, mark_delete);
    let pages = holes.pages();
    out.extend((pages.len() as u32).to_le_bytes());
    for (page, bits) in pages {
        let mut bits = bits.clone();
        bits.optimize();
        out.extend(page.ledger.to_le_bytes());
        out.extend(page.high.to_le_bytes());
        out.extend((bits.serialized_size() as u32).to_le_bytes());
        bits.serialize_into(&mut out).expect("writing to a vector does not fail");
    }
    let count_at = out.len();
    out.extend([0; 4]);
    let mut count = 0u32;
    for (position, left) in batches {
        count += 1;
        put_position(&mut out, *position);
        out.extend((left.words().len() as u32).to_le_bytes());
        left.words().iter().for_each(|word| out.extend(word.to_le_bytes()));
    }
    out[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
    out
}

fn put_position(out: &mut Vec<u8>, position: Position) {
    out.extend(position.ledger.to_le_bytes());
    out.extend(position.entry.to_le_bytes());
}

fn decode(bytes: &[u8]) -> Result<(u8, State), Error> {
    let mut input = Input(bytes);
    let [version, kind] = input.take("header")?;
    if version != VERSION {
        return Err(Error::Version(version));
    }
    if kind != REPLACES && kind != ADDS {
        return Err(Error::Damaged("kind"));
    }
    let mark_delete = input.position("mark-delete")?;
    let mut state = Cursor::new(mark_delete).state;
    for _ in 0..input.u32("page count")? {
        let ledger = i64::from_le_bytes(input.take("page ledger")?);
        let high = input.u32("page number")?;
        let length = input.u32("page length")? as usize;
        let bits = input.bytes(length, "page")?;
        let bits = RoaringBitmap::deserialize_from(bits).map_err(|_| Error::Damaged("page bitmap"))?;
        state.holes.add_page(Page { ledger, high }, bits);
    }
    for _ in 0..input.u32("batch count")? {
        let position = input.position("batch position")?;
        let length = input.u32("batch length")? as usize;
        let words = input.bytes(length.saturating_mul(8), "batch words")?;
        let left = Remaining::from_words(words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect());
        if left.is_empty() {
            return Err(Error::Damaged("batch words"));
        }
        state.batches.insert(position, left);
    }
    if !input.0.is_empty() {
        return Err(Error::Damaged("end"));
    }
    Ok((kind, state))
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(Error::Damaged(what))?;
        self.0 = rest;
        Ok(head)
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Error::Damaged(what))?;
        self.0 = rest;
        Ok(*head)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        self.take(what).map(u32::from_le_bytes)
    }

    fn position(&mut self, what: &'static str) -> Result<Position, Error> {
        let ledger = i64::from_le_bytes(self.take(what)?);
        Ok(Position::new(ledger, i64::from_le_bytes(self.take(what)?)))
    }
}
