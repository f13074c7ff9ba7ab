//! Opening a log.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use plerion_ledger::{Closed, Epoch};
use plerion_metadata::Durability;

use super::cursors::Cursor;
use super::spans::Spans;
use super::{Gate, Inner, ManagedLog, RecoveredCursor};
use crate::row::{Cas, LedgerInfo, TopicRow};
use crate::state_log::Membership;
use crate::{Context, Error, StateLog, topic_state};

/// What to do about a topic that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It is made; that it exists is durable with its first message or durable cursor, or soon after.
    Create,
    /// It is made, durably.
    CreateDurably,
    /// That is an error.
    MustExist,
}

/// An opened log and what was recovered with it.
pub struct Opened {
    /// The log.
    pub log: ManagedLog,
    /// Whether the topic was not there before.
    pub created: bool,
    /// The durable cursors, by name.
    pub cursors: Vec<RecoveredCursor>,
    /// The last recorded state of the deduplication.
    pub dedup: Option<Bytes>,
}

pub(super) async fn open(state_log: &StateLog, path: &str, mode: OpenMode) -> Result<Opened, Error> {
    let (context, owner) = (state_log.context().clone(), state_log.owner());
    let path: Arc<str> = Arc::from(path);
    let (membership, changes) = state_log.join(&path).await?;
    let (row, created) = load_or_create(&context, &path, mode, &membership, owner).await?;
    if row.get().had_synced_write() {
        row.assume_durable();
    }
    membership.witness(row.get().checkpoint.sequence);
    fence(&context, &path, &row, owner).await?;
    row.delete_doomed(&*context.store).await;
    let checkpoint = row.get().checkpoint.clone();
    let state = topic_state::recover(&context, &path, &checkpoint, owner, changes).await?;

    let mut spans = Spans::new(row.get().trimmed);
    row.get().ledgers.iter().for_each(|ledger| spans.push(ledger.id.0.cast_signed(), ledger.entries));
    let mut cursors = Vec::new();
    let mut held = BTreeMap::new();
    for (name, state) in state.cursors {
        cursors.push(RecoveredCursor {
            name: name.to_string(),
            snapshot: state.snapshot.clone(),
            properties: state.properties.clone(),
        });
        held.insert(name, Cursor { properties: state.properties, held: Some(state.snapshot) });
    }
    let gate = if row.get().terminated.is_some() { Gate::Terminated } else { Gate::Open };
    let inner = Rc::new(Inner {
        state_log: state_log.clone(),
        membership: Some(membership).into(),
        path,
        row,
        spans: spans.into(),
        tail: Default::default(),
        current: None.into(),
        cursors: held.into(),
        dedup: state.dedup.clone().into(),
        sink: Default::default(),
        snapshots: Default::default(),
        end: Default::default(),
        gate: gate.into(),
        turn: Default::default(),
        checkpointing: Default::default(),
        scratch: Default::default(),
        skipped: 0.into(),
        context,
    });
    if let Some(membership) = &*inner.membership.borrow() {
        let member = Rc::downgrade(&inner);
        membership.enter(member);
    }
    Ok(Opened { log: ManagedLog { inner }, created, cursors, dedup: state.dedup })
}

async fn load_or_create(
    context: &Context,
    path: &Arc<str>,
    mode: OpenMode,
    membership: &Membership,
    owner: Epoch,
) -> Result<(Cas<TopicRow>, bool), Error> {
    loop {
        if let Some(row) = Cas::load(&context.metadata, path).await? {
            return Ok((row, false));
        }
        let durability = match mode {
            OpenMode::Create => Durability::Eventual,
            OpenMode::CreateDurably => Durability::Synced,
            OpenMode::MustExist => return Err(Error::NoLog { path: Arc::clone(path) }),
        };
        // Changes of an earlier topic of that name are older than this one's.
        let row = TopicRow::new(owner, membership.next_sequence());
        match Cas::create(&context.metadata, path, row, durability).await {
            Ok(row) => return Ok((row, true)),
            // It was made meanwhile, perhaps by an earlier attempt whose outcome nobody waited for.
            Err(Error::Fenced { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Shuts earlier owners out: of the row by a new owner's write, of the ledger they left open by recovering it.
async fn fence(context: &Context, path: &Arc<str>, row: &Cas<TopicRow>, owner: Epoch) -> Result<(), Error> {
    let (stored, open) = (row.get().owner, row.get().open_ledger());
    if stored > owner {
        return Err(Error::StaleOwner { path: Arc::clone(path), stored, own: owner });
    }
    if stored < owner {
        row.update(Durability::Eventual, |row| row.owner = owner).await?;
    }
    if let Some(id) = open {
        let closed = match context.store.recover(id, owner).await {
            Ok(closed) => closed,
            // Nothing was confirmed in a ledger that did not live to be found.
            Err(plerion_ledger::Error::NoLedger(_)) => Closed { last: None, length: 0 },
            Err(error) => return Err(error.into()),
        };
        let sealed = LedgerInfo::sealed(id, closed, context.clock.wall_ms());
        row.update(Durability::Synced, |row| row.seal(sealed)).await?;
    }
    Ok(())
}
