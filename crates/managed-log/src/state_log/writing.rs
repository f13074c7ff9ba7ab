//! Which ledgers the log is in: making one, exchanging it, and the log's end.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use plerion_ledger::{AppendError, AppendSink, Class, CreateOptions, LedgerId, LedgerWriter};
use plerion_metadata::Durability;
use tokio::task::spawn_local;

use super::Inner;
use crate::Error;

impl Inner {
    /// Makes the first ledger, for the frames that wait.
    pub(super) fn start_writing(self: &Rc<Self>) {
        let inner = Rc::clone(self);
        spawn_local(async move {
            let _turn = inner.turn.lock().await;
            if let Err(error) = inner.make_writer().await {
                inner.fail(error);
            }
        });
    }

    /// Like a flush, with the turn held.
    pub(super) async fn flush_held(self: &Rc<Self>) -> Result<(), Error> {
        self.ship();
        self.make_writer().await?;
        self.flush().await
    }

    /// Makes a ledger if frames wait for one. To be called with the turn held.
    async fn make_writer(self: &Rc<Self>) -> Result<(), Error> {
        if self.tail.borrow().has_waiting() { self.switch().await } else { Ok(()) }
    }

    /// Goes on in a new ledger. To be called with the turn held. The log ends if the old one cannot be sealed; before
    /// that, an error changes nothing.
    pub(super) async fn switch(self: &Rc<Self>) -> Result<(), Error> {
        let sink = Rc::new(Sink { log: Rc::downgrade(self), ledger: Cell::new(None) });
        let options = CreateOptions { journal_key: self.context.journal_key, class: Class::State };
        let writer = self.context.store.create(self.owner, options, Rc::clone(&sink) as Rc<dyn AppendSink>).await?;
        let id = writer.ledger();
        sink.ledger.set(Some(id));
        let written = self.row.update(Durability::Synced, |row| row.ledgers.push(id)).await;
        self.context.keep_if_written(id, &written).await;
        written?;
        let outcome = self.exchange(id, writer).await;
        if let Err(error) = &outcome {
            self.fail(error.clone());
        }
        outcome
    }

    async fn exchange(&self, id: LedgerId, writer: Box<dyn LedgerWriter>) -> Result<(), Error> {
        self.seal().await?;
        if let Some(error) = &*self.failure.borrow() {
            return Err(error.clone());
        }
        self.current.set(Some(id));
        self.compact_at.set(self.context.config.state_log_bytes);
        self.tail.borrow_mut().install(writer, self.context.clock.monotonic())?;
        Ok(())
    }

    /// Seals the open ledger, if there is one; frames wait from now on.
    async fn seal(&self) -> Result<(), Error> {
        let writer = self.tail.borrow_mut().begin_switch();
        if let Some(writer) = writer {
            let id = writer.ledger();
            let closed = writer.close().await?;
            let entries = closed.last.map_or(0, |last| last + 1);
            if let Some(last) = closed.last {
                self.advanced(last);
            }
            self.sealed.borrow_mut().push((id, entries));
            self.current.set(None);
        }
        Ok(())
    }

    /// Deletes the sealed ledgers. To be called when nothing in them is needed, with the turn held.
    pub(super) async fn retire(&self) -> Result<(), Error> {
        let current = self.current.get();
        self.row
            .update(Durability::Synced, |row| {
                let old = row.ledgers.extract_if(.., |id| Some(*id) != current);
                row.doomed.extend(old);
            })
            .await?;
        self.sealed.borrow_mut().clear();
        self.row.delete_doomed(&*self.context.store).await;
        Ok(())
    }

    pub(super) async fn close(self: &Rc<Self>) -> Result<(), Error> {
        let flushed = self.flush().await;
        let _turn = self.turn.lock().await;
        match &*self.failure.borrow() {
            None => flushed?,
            Some(Error::Closed) => return Ok(()),
            Some(error) => return Err(error.clone()),
        }
        let outcome = self.settle_and_end().await;
        self.fail(outcome.as_ref().err().cloned().unwrap_or(Error::Closed));
        outcome
    }

    async fn settle_and_end(self: &Rc<Self>) -> Result<(), Error> {
        let failed = self.settle().await?;
        self.seal().await?;
        match failed.into_values().next() {
            Some(error) => Err(error),
            None if self.row.get().ledgers.is_empty() => Ok(()),
            None => self.retire().await,
        }
    }
}

/// Tells the log how the appends to a ledger went, as long as that is the open one.
struct Sink {
    log: Weak<Inner>,
    ledger: Cell<Option<LedgerId>>,
}

impl Sink {
    fn log(&self) -> Option<Rc<Inner>> {
        self.log.upgrade().filter(|log| log.current.get().is_some() && log.current == self.ledger)
    }
}

impl AppendSink for Sink {
    fn advanced(&self, last: u64) {
        if let Some(log) = self.log() {
            log.advanced(last);
        }
    }

    fn failed(&self, error: AppendError) {
        if let Some(log) = self.log() {
            log.fail(Error::Append(error));
        }
    }
}
