//! Opening a state log: fencing its earlier owners, and replay.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;
use plerion_ledger::{Epoch, LedgerId, ReadError};
use plerion_metadata::Durability;

use super::members::Pending;
use super::{Inner, frame};
use crate::row::{BundleRow, Cas};
use crate::topic_state::Change;
use crate::{Context, Error};

/// How many bytes of frames are read at once.
const READ_BYTES: usize = 1 << 20;
/// With more ledgers than this, all topics are brought up to date at open.
const MAX_LEDGERS: usize = 4;

pub(super) async fn open(context: Context, path: Arc<str>, owner: Epoch) -> Result<Rc<Inner>, Error> {
    let row = match Cas::<BundleRow>::load(&context.metadata, &path).await? {
        Some(row) => row,
        None => {
            let row = BundleRow { owner, ..BundleRow::default() };
            Cas::create(&context.metadata, &path, row, Durability::Eventual).await?
        }
    };
    let stored = row.get().owner;
    if stored > owner {
        return Err(Error::StaleOwner { path, stored, own: owner });
    }
    if stored < owner {
        row.update(Durability::Eventual, |row| row.owner = owner).await?;
    }
    let mut replay = Replay { context: &context, path: &path, bytes: 0 };
    let mut sealed = Vec::new();
    let (mut sequence, mut pending) = (0, HashMap::new());
    let ledgers = row.get().ledgers.clone();
    for id in ledgers {
        let Some(last) = replay.recover(id, owner).await? else { continue };
        replay
            .read(id, last, |record| {
                sequence = sequence.max(record.sequence);
                let held = pending.entry(record.topic).or_insert_with(|| Pending::Held(Vec::new()));
                if let Pending::Held(changes) = held {
                    changes.push((record.sequence, record.change));
                }
            })
            .await?;
        sealed.push((id, last + 1));
    }
    let many = row.get().ledgers.len() > MAX_LEDGERS || replay.bytes > context.config.state_log_bytes;
    let inner = Rc::new(Inner {
        path,
        owner,
        row,
        sequence: sequence.into(),
        frame: BytesMut::new().into(),
        tail: Default::default(),
        shipping: Default::default(),
        sealed: sealed.into(),
        current: None.into(),
        failure: Default::default(),
        failed: Default::default(),
        members: Default::default(),
        pending: pending.into(),
        compacting: false.into(),
        compact_at: context.config.state_log_bytes.into(),
        turn: Default::default(),
        context,
    });
    inner.row.delete_doomed(&*inner.context.store).await;
    if many {
        let turn = inner.turn.lock().await;
        inner.empty_sealed().await?;
        drop(turn);
    }
    Ok(inner)
}

/// Reads the changes of one topic from the ledgers of an open log. To be called with the turn held, after a flush.
pub(super) async fn read_topic(log: &Rc<Inner>, topic: &Arc<str>) -> Result<Vec<(u64, Change)>, Error> {
    let mut ledgers = log.sealed.borrow().clone();
    if let Some(id) = log.current.get() {
        ledgers.push((id, log.tail.borrow().open().confirmed));
    }
    let mut changes = Vec::new();
    read_changes(log, ledgers, |record| {
        if record.topic == *topic {
            changes.push((record.sequence, record.change));
        }
    })
    .await?;
    Ok(changes)
}

/// Reads ledgers of an open log, of which the numbers of entries are given.
pub(super) async fn read_changes(
    log: &Rc<Inner>,
    ledgers: Vec<(LedgerId, u64)>,
    mut each: impl FnMut(frame::Record),
) -> Result<(), Error> {
    let mut replay = Replay { context: &log.context, path: &log.path, bytes: 0 };
    for (id, entries) in ledgers {
        if let Some(last) = entries.checked_sub(1) {
            replay.read(id, last, &mut each).await?;
        }
    }
    Ok(())
}

struct Replay<'a> {
    context: &'a Context,
    path: &'a Arc<str>,
    bytes: u64,
}

impl Replay<'_> {
    /// Seals a ledger and gives its last entry.
    async fn recover(&self, id: LedgerId, owner: Epoch) -> Result<Option<u64>, Error> {
        match self.context.store.recover(id, owner).await {
            Ok(closed) => Ok(closed.last),
            Err(plerion_ledger::Error::NoLedger(id)) => {
                self.lost(format!("ledger {id} of the state log is gone"))?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn read(&mut self, id: LedgerId, last: u64, mut each: impl FnMut(frame::Record)) -> Result<(), Error> {
        let mut next = 0;
        while next <= last {
            let entries = match self.context.store.read(id, next, last, READ_BYTES).await {
                Ok(entries) => entries,
                Err(error @ (ReadError::Corrupt { entry, .. } | ReadError::NoEntry { entry, .. })) => {
                    self.lost(error.to_string())?;
                    next = next.max(entry) + 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            for entry in entries {
                next = entry.id + 1;
                self.bytes += entry.bytes.len() as u64;
                if let Err(why) = frame::decode(entry.bytes, &mut each) {
                    self.lost(format!("frame {} of ledger {id}: {why}", entry.id))?;
                }
            }
        }
        Ok(())
    }

    /// Some changes cannot be read. Going on without them may deliver messages again, and may forget that a cursor
    /// was made.
    fn lost(&self, why: String) -> Result<(), Error> {
        if !self.context.config.skip_unreadable {
            let way = "set autoSkipNonRecoverableData=true to go on without it; messages may be delivered again";
            return Err(Error::Corrupt { path: Arc::clone(self.path), why: Arc::from(format!("{why}; {way}")) });
        }
        let error = Error::Corrupt { path: Arc::clone(self.path), why: Arc::from(why) };
        tracing::error!(%error, "passing over lost changes of cursors");
        Ok(())
    }
}
