//! Deciding about commands, in order, before they are written.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::batch::{Batch, Before, Undo};
use super::room::Room;
use super::{Command, Known, Open, Reply, Sealer, State};
use crate::embedded::block::{Block, Record};
use crate::embedded::id_hash::IdMap;
use crate::embedded::inbox::{Answer, Completion};
use crate::embedded::index::{MemoryIndex, Place, Row};
use crate::embedded::record::{self, Control};
use crate::embedded::seed::Seed;
use crate::{AppendError, Class, Closed, Epoch, Error, LedgerId};

/// A batch while it is put together.
pub(super) struct Admission<'a> {
    pub(super) open: MutexGuard<'a, IdMap<Open>>,
    pub(super) index: &'a mut MemoryIndex,
    pub(super) room: Room,
    pub(super) seed: Seed,
    pub(super) version: u64,
    pub(super) batch: Batch,
    pub(super) journal: usize,
}

impl Admission<'_> {
    /// Seals the ledgers that failed, so that what their writers had in flight is never taken for theirs.
    pub(super) fn seal_failed(&mut self, failed: &[u64]) {
        for &ledger in failed {
            let Some(open) = self.open.get(&ledger).filter(|open| matches!(open.state, State::Failed(_))) else {
                continue;
            };
            let (epoch, closed) = (open.epoch, open.closed());
            self.seal_now(ledger, epoch, closed);
        }
    }

    pub(super) fn admit(&mut self, command: &Command) {
        match command {
            Command::Append(block) => self.append(block),
            Command::Create { ledger, epoch, class, reply } => self.create(*ledger, *epoch, *class, reply),
            Command::Seal { ledger, epoch, by, reply } => {
                let answer = self.seal(*ledger, *epoch, *by);
                self.answer(reply, answer);
            }
            Command::Delete { ledger, reply } => self.delete(*ledger, reply),
            Command::Release { ledger } => self.release(*ledger),
            Command::Retry => {}
        }
    }

    fn append(&mut self, block: &Block) {
        let start = self.batch.place(block);
        let mut admitted = 0;
        for run in block.records.chunk_by(|one, next| one.ledger == next.ledger) {
            match self.room.clone() {
                Room::Any => admitted += self.admit_run(run, start),
                Room::Reserved(reason) => self.admit_state(block, run, &reason),
                Room::None(reason) => self.refuse(run, &reason),
            }
        }
        if admitted > 0 {
            self.batch.add(block);
            self.batch.records += block.records.len() as u32;
            self.batch.sum = self.batch.sum.wrapping_add(block.sum);
            self.batch.entries += admitted;
        }
        self.batch.outbox.add(&block.inbox, Completion::Resolved { journal: self.journal });
    }

    /// Takes entries of one ledger that follow each other in a block that goes to `start`. Returns how many.
    fn admit_run(&mut self, run: &[Record], start: u64) -> u64 {
        let ledger = run[0].ledger;
        let Some(open) = self.open.get_mut(&ledger).filter(|open| matches!(open.state, State::Open)) else {
            return 0;
        };
        let row = self.index.row(ledger);
        for record in run {
            debug_assert_eq!(record.entry, open.next, "ledger {ledger} has a gap");
            let offset = start.wrapping_add(u64::from(record.offset)) as u32;
            row.push(record.entry, Place { offset, size: record.size });
            open.next += 1;
            open.length += u64::from(record.size) - record::HEADER as u64;
            self.batch.undo.push(Undo::Entry { ledger, size: record.size });
        }
        run.len() as u64
    }

    /// Takes entries of one ledger, and nothing else of their block, if they may use space that is held back.
    fn admit_state(&mut self, block: &Block, run: &[Record], reason: &Arc<str>) {
        if self.open.get(&run[0].ledger).is_some_and(|open| open.class == Class::Messages) {
            return self.refuse(run, reason);
        }
        let (from, last) = (run[0].offset, run[run.len() - 1]);
        // Offsets count from where the whole block would begin.
        let admitted = self.admit_run(run, self.batch.at.wrapping_sub(u64::from(from)));
        if admitted > 0 {
            let bytes = block.bytes.slice(from as usize..(last.offset + last.size) as usize);
            for record in run {
                let crc = record::le_u32(&block.bytes, record.offset as usize).unwrap_or_default();
                self.batch.sum = self.batch.sum.wrapping_add(u64::from(crc));
            }
            self.batch.push(bytes, false);
            self.batch.records += run.len() as u32;
            self.batch.entries += admitted;
        }
    }

    /// Fails the writer of entries there is no room for.
    fn refuse(&mut self, run: &[Record], reason: &Arc<str>) {
        let ledger = run[0].ledger;
        let Some(open) = self.open.get_mut(&ledger).filter(|open| matches!(open.state, State::Open)) else { return };
        let error = AppendError::Unavailable(Arc::clone(reason));
        open.state = State::Failed(error.clone());
        self.batch.failed.push(ledger);
        if let Some(writer) = &open.writer {
            self.batch.outbox.add(writer, Completion::Failed { ledger: LedgerId(ledger), error });
        }
    }

    fn create(&mut self, ledger: u64, epoch: Epoch, class: Class, reply: &Reply) {
        let answer = match &self.room {
            Room::None(reason) => Err(Error::Unavailable(Arc::clone(reason))),
            Room::Reserved(reason) if class == Class::Messages => Err(Error::Unavailable(Arc::clone(reason))),
            Room::Any | Room::Reserved(_) => {
                self.control(ledger, Control::Create(epoch));
                let row = self.index.row(ledger);
                (row.created, row.epoch) = (true, epoch);
                let writer = Some(Arc::clone(&reply.inbox));
                self.open.insert(ledger, Open { epoch, next: 0, length: 0, class, state: State::Open, writer });
                self.batch.undo.push(Undo::Create { ledger });
                Ok(Answer::Done)
            }
        };
        self.answer(reply, answer);
    }

    fn seal(&mut self, ledger: u64, epoch: Epoch, by: Sealer) -> Result<Answer, Error> {
        let id = LedgerId(ledger);
        let (owner, closed) = match (self.open.get(&ledger), by) {
            (Some(open), by) => match (&open.state, by) {
                (State::Deleted, Sealer::Writer) => return Err(AppendError::Closed(id).into()),
                (State::Deleted, Sealer::Successor(_)) => return Err(Error::NoLedger(id)),
                (State::Failed(error), Sealer::Writer) => return Err(error.clone().into()),
                (State::Sealed(_), Sealer::Writer) => {
                    return Err(if open.epoch > epoch {
                        Error::Fenced { ledger: id, by: open.epoch }
                    } else {
                        AppendError::Closed(id).into()
                    });
                }
                _ => (open.epoch, open.closed()),
            },
            (None, Sealer::Writer) => return Err(Error::NoLedger(id)),
            // It was held open when it was looked for.
            (None, Sealer::Successor(None)) => return Ok(Answer::LookAgain),
            (None, Sealer::Successor(Some(known))) => match self.judge(ledger, known) {
                Some(judged) => judged,
                None => return Ok(Answer::LookAgain),
            },
        };
        if owner > epoch {
            return Err(Error::Fenced { ledger: id, by: owner });
        }
        if let Room::None(reason) = &self.room {
            return Err(Error::Unavailable(Arc::clone(reason)));
        }
        if matches!(by, Sealer::Successor(_)) {
            self.tell_writer(ledger, epoch);
        }
        self.seal_now(ledger, epoch, closed);
        Ok(Answer::Sealed(closed))
    }

    /// The epoch and end of a ledger this journal does not hold open, or `None` if what is known may be outdated.
    fn judge(&self, ledger: u64, known: Known) -> Option<(Epoch, Closed)> {
        if known.version != self.version {
            return None;
        }
        let row = self.index.rows.get(&ledger);
        let sealed_here = row.filter(|row| row.sealed.is_some()).map_or(Epoch(0), |row| row.epoch);
        let closed = row.and_then(|row| row.sealed).unwrap_or(known.closed);
        Some((known.epoch.max(sealed_here), closed))
    }

    /// Tells the writer of a ledger that is taken over.
    fn tell_writer(&mut self, ledger: u64, by: Epoch) {
        let id = LedgerId(ledger);
        if let Some(open) = self.open.get(&ledger)
            && let (State::Open, Some(writer)) = (&open.state, &open.writer)
        {
            let error = if by > open.epoch { AppendError::Fenced { ledger: id, by } } else { AppendError::Closed(id) };
            self.batch.outbox.add(writer, Completion::Failed { ledger: id, error });
        }
    }

    fn seal_now(&mut self, ledger: u64, epoch: Epoch, closed: Closed) {
        self.control(ledger, Control::Seal(epoch, closed));
        let row: &mut Row = self.index.row(ledger);
        let before = (row.epoch, row.sealed);
        (row.epoch, row.sealed) = (epoch, Some(closed));
        let open = self.open.get_mut(&ledger).map(|open| {
            let before = (open.epoch, open.state.clone());
            (open.epoch, open.state) = (epoch, State::Sealed(closed));
            before
        });
        self.batch.undo.push(Undo::Seal { ledger, before: Box::new(Before { row: before, open }) });
        self.batch.over.push(ledger);
    }

    fn delete(&mut self, ledger: u64, reply: &Reply) {
        if let Room::None(reason) = &self.room {
            let error = Error::Unavailable(Arc::clone(reason));
            return self.answer(reply, Err(error));
        }
        self.control(ledger, Control::Delete);
        self.index.deletes.push(ledger);
        let id = LedgerId(ledger);
        let state = self.open.get_mut(&ledger).map(|open| {
            if let (State::Open, Some(writer)) = (&open.state, &open.writer) {
                self.batch.outbox.add(writer, Completion::Failed { ledger: id, error: AppendError::Closed(id) });
            }
            Box::new(std::mem::replace(&mut open.state, State::Deleted))
        });
        self.batch.undo.push(Undo::Delete { ledger, state });
        self.batch.deletes.push(ledger);
        self.batch.over.push(ledger);
        self.answer(reply, Ok(Answer::Done));
    }

    fn release(&mut self, ledger: u64) {
        if let Some(open) = self.open.get_mut(&ledger) {
            open.writer = None;
            self.batch.over.push(ledger);
        }
    }

    fn control(&mut self, ledger: u64, control: Control) {
        let mut bytes = Vec::with_capacity(Control::MAX);
        let crc = record::encode_control(&mut bytes, self.seed, ledger, control);
        self.batch.sum = self.batch.sum.wrapping_add(u64::from(crc));
        self.batch.records += 1;
        self.batch.push(bytes.into(), false);
    }

    fn answer(&mut self, reply: &Reply, answer: Result<Answer, Error>) {
        self.batch.outbox.add(&reply.inbox, Completion::Answer { token: reply.token, answer });
    }
}

impl Open {
    /// What it is sealed as, or would be.
    fn closed(&self) -> Closed {
        match self.state {
            State::Sealed(closed) => closed,
            _ => Closed { last: self.next.checked_sub(1), length: self.length },
        }
    }

    /// Whether nothing depends on it any more.
    pub(super) fn is_over(&self) -> bool {
        self.writer.is_none() && matches!(self.state, State::Sealed(_) | State::Deleted)
    }
}
