//! Where the checkpoint of a topic's state is kept: in its row, or in a ledger of its own when it is large.

use std::rc::Rc;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use plerion_ledger::{AppendError, AppendSink, Body, Class, Closed, CreateOptions, Epoch, LedgerId};
use plerion_metadata::Durability;

use super::{Change, TopicState};
use crate::row::{Cas, Checkpoint, State, TopicRow};
use crate::{Context, Error};

/// A larger state goes to a ledger: rows are rewritten whole, and bounded by the metadata store.
const MAX_INLINE_BYTES: usize = 64 << 10;
/// The size of a ledger's entries.
const CHUNK_BYTES: usize = 512 << 10;

/// Reads a checkpoint and applies those of `changes` that are newer, in the order of their numbers and each once.
/// Gives a state without deltas.
pub(crate) async fn recover(
    context: &Context,
    path: &Arc<str>,
    checkpoint: &Checkpoint,
    owner: Epoch,
    mut changes: Vec<(u64, Change)>,
) -> Result<TopicState, Error> {
    let corrupt = |why: String| Error::Corrupt { path: Arc::clone(path), why: Arc::from(why) };
    let bytes = match &checkpoint.state {
        State::Inline(bytes) => bytes.clone(),
        &State::Ledger(id) => read_ledger(context, id, owner).await?,
    };
    let mut state = TopicState::decode(bytes).map_err(|why| corrupt(format!("the checkpoint: {why}")))?;
    changes.sort_by_key(|&(sequence, _)| sequence);
    changes.dedup_by_key(|&mut (sequence, _)| sequence);
    for (_, change) in changes.into_iter().filter(|&(sequence, _)| sequence > checkpoint.sequence) {
        state.apply(change);
    }
    state.merge().map_err(corrupt)?;
    Ok(state)
}

/// Makes `state` the durable checkpoint at `sequence` and deletes the ledger of the one before it.
pub(crate) async fn write(
    context: &Context,
    row: &Cas<TopicRow>,
    owner: Epoch,
    sequence: u64,
    state: Bytes,
) -> Result<(), Error> {
    let state = if state.len() > MAX_INLINE_BYTES {
        State::Ledger(write_ledger(context, owner, &state).await?)
    } else {
        State::Inline(state)
    };
    let made = match state {
        State::Ledger(id) => Some(id),
        State::Inline(_) => None,
    };
    let written = row
        .update(Durability::Synced, |row| {
            if let State::Ledger(id) = row.checkpoint.state {
                row.doomed.push(id);
            }
            row.checkpoint = Checkpoint { sequence, state };
        })
        .await;
    if let Some(id) = made {
        context.keep_if_written(id, &written).await;
    }
    if written.is_ok() {
        row.delete_doomed(&*context.store).await;
    }
    written
}

async fn read_ledger(context: &Context, id: LedgerId, owner: Epoch) -> Result<Bytes, Error> {
    let Some(last) = context.store.recover(id, owner).await?.last else { return Ok(Bytes::new()) };
    let mut bytes = BytesMut::new();
    let mut next = 0;
    while next <= last {
        for entry in context.store.read(id, next, last, 4 * CHUNK_BYTES).await? {
            bytes.extend_from_slice(&entry.bytes);
            next = entry.id + 1;
        }
    }
    Ok(bytes.freeze())
}

async fn write_ledger(context: &Context, owner: Epoch, state: &[u8]) -> Result<LedgerId, Error> {
    let options = CreateOptions { journal_key: context.journal_key, class: Class::State };
    let mut writer = context.store.create(owner, options, Rc::new(Unheard)).await?;
    for chunk in state.chunks(CHUNK_BYTES) {
        writer.append(Body::from(chunk))?;
    }
    let id = writer.ledger();
    let Closed { .. } = writer.close().await?;
    Ok(id)
}

/// Closing the ledger tells whether its entries are durable.
struct Unheard;

impl AppendSink for Unheard {
    fn advanced(&self, _last: u64) {}

    fn failed(&self, _error: AppendError) {}
}
