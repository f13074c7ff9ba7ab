//! Appending, and rolling from ledger to ledger.

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use plerion_ledger::{AppendError, AppendSink, Body, Class, CreateOptions, LedgerId};
use plerion_metadata::Durability;
use tokio::task::spawn_local;

use super::{End, Gate, Inner, ManagedLog};
use crate::row::LedgerInfo;
use crate::tail::{Open, Pushed};
use crate::{AppendRefused, Config, Error};

impl ManagedLog {
    /// Enqueues an entry. The order of calls is the order of positions. The entry is copied once, also when it has
    /// to wait for a ledger to be made; its position is told to the [`LogSink`](super::LogSink) when it is durable.
    ///
    /// # Errors
    /// [`AppendRefused`]: nothing was enqueued, and no append will be taken until the log is opened anew.
    pub fn append(&self, body: Body<'_>) -> Result<(), AppendRefused> {
        self.inner.append(body)
    }

    /// Bytes of the appends that wait for a ledger to be made. At
    /// [`Config::max_waiting_bytes`] the log fails: producers should be held back before.
    pub fn waiting_bytes(&self) -> usize {
        self.inner.tail.borrow().waiting_bytes()
    }
}

impl Inner {
    fn append(self: &Rc<Self>, body: Body<'_>) -> Result<(), AppendRefused> {
        self.check().map_err(AppendRefused::Failed)?;
        match self.gate.get() {
            Gate::Open => {}
            Gate::Terminated => return Err(AppendRefused::Terminated(self.last())),
            Gate::Closing => return Err(AppendRefused::Failed(Error::Closed)),
        }
        let config = &self.context.config;
        let pushed = {
            let mut tail = self.tail.borrow_mut();
            if tail.waiting_bytes() > config.max_waiting_bytes {
                Err(AppendError::Unavailable(Arc::from("too many appends wait for a ledger to be made")))
            } else {
                let roll = is_full(tail.open(), config, || self.age(tail.open()));
                tail.push(body, roll)
            }
        };
        match pushed {
            Ok(Pushed::Appended | Pushed::Waits) => Ok(()),
            Ok(Pushed::NeedsWriter) => {
                let inner = Rc::clone(self);
                spawn_local(async move {
                    let _turn = inner.turn.lock().await;
                    // Whoever had the turn before may have made the ledger.
                    if inner.tail.borrow().is_switching() {
                        // The sink is told of a failure.
                        let _ = inner.switch().await;
                    }
                });
                Ok(())
            }
            Err(error) => {
                let error = Error::Append(error);
                self.fail_after_pending(error.clone());
                Err(AppendRefused::Failed(error))
            }
        }
    }

    fn age(&self, open: &Open) -> std::time::Duration {
        self.context.clock.monotonic().saturating_sub(open.since)
    }

    /// Ends the log once the appends under way are resolved.
    fn fail_after_pending(self: &Rc<Self>, error: Error) {
        if self.tail.borrow().has_unconfirmed() && !matches!(error, Error::Append(AppendError::Fenced { .. })) {
            self.end.replace(End::Failing(error));
        } else {
            self.fail(error);
        }
    }

    /// Seals the open ledger, and makes the next one if appends wait for it. To be called with the turn held. An error
    /// ends the log.
    pub(super) async fn switch(self: &Rc<Self>) -> Result<(), Error> {
        let outcome = self.exchange_ledger().await;
        if let Err(error) = &outcome {
            self.fail(error.clone());
        }
        outcome
    }

    async fn exchange_ledger(self: &Rc<Self>) -> Result<(), Error> {
        let writer = self.tail.borrow_mut().begin_switch();
        let mut sealed = None;
        if let Some(writer) = writer {
            let id = writer.ledger();
            let closed = writer.close().await?;
            if let Some(last) = closed.last {
                self.advanced(last);
            }
            self.spans.borrow_mut().drop_empty_last();
            self.current.set(None);
            sealed = Some(LedgerInfo::sealed(id, closed, self.context.clock.wall_ms()));
        }
        loop {
            self.check()?;
            if self.tail.borrow().has_waiting() {
                return self.begin_ledger(sealed.take()).await;
            }
            if let Some(sealed) = sealed.take() {
                self.row.update(Durability::Synced, |row| row.seal(sealed)).await?;
            }
            if self.tail.borrow_mut().rest() {
                return Ok(());
            }
        }
    }

    async fn begin_ledger(self: &Rc<Self>, sealed: Option<LedgerInfo>) -> Result<(), Error> {
        let sink = Rc::new(Sink { log: Rc::downgrade(self), ledger: Cell::new(None) });
        let (owner, journal_key) = (self.state_log.owner(), self.context.journal_key);
        let options = CreateOptions { journal_key, class: Class::Messages };
        let writer = self.context.store.create(owner, options, Rc::clone(&sink) as Rc<dyn AppendSink>).await?;
        let id = writer.ledger();
        sink.ledger.set(Some(id));
        let written = self
            .row
            .update(Durability::Synced, |row| {
                sealed.into_iter().for_each(|sealed| row.seal(sealed));
                row.ledgers.push(LedgerInfo::open(id));
            })
            .await;
        self.context.keep_if_written(id, &written).await;
        written?;
        self.check()?;
        self.current.set(Some(id));
        self.spans.borrow_mut().push(id.0.cast_signed(), 0);
        let installed = self.tail.borrow_mut().install(writer, self.context.clock.monotonic());
        if let Err(error) = installed {
            self.fail_after_pending(Error::Append(error));
        }
        Ok(())
    }

    fn advanced(self: &Rc<Self>, last: u64) {
        if matches!(*self.end.borrow(), End::Failed(_)) {
            return;
        }
        let (first, count) = self.tail.borrow_mut().advance(last);
        if let Some(id) = self.current.get().filter(|_| count > 0) {
            self.spans.borrow_mut().grow(first + count);
            if let Some(sink) = self.sink() {
                sink.confirmed(id, first, count);
            }
        }
        let failing = match &*self.end.borrow() {
            End::Failing(error) if !self.tail.borrow().has_unconfirmed() => Some(error.clone()),
            _ => None,
        };
        if let Some(error) = failing {
            self.fail(error);
        }
    }
}

/// Whether the open ledger is to take no more entries.
fn is_full(open: &Open, config: &Config, age: impl FnOnce() -> std::time::Duration) -> bool {
    if open.entries == 0 {
        return false;
    }
    let full = open.entries >= config.max_entries_per_ledger || open.bytes >= config.max_bytes_per_ledger;
    let age = age();
    age >= config.max_rollover || (full && age >= config.min_rollover)
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
