//! The contract, over a shard.

use std::rc::Rc;
use std::sync::Arc;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::LocalBoxFuture;

use super::writer::Writer;
use super::{Ledger, Shard};
use crate::embedded::engine::{Engine, cause};
use crate::embedded::inbox::Answer;
use crate::embedded::journal::{Command, Known, Sealer};
use crate::{AppendSink, Closed, CreateOptions, Entry, Epoch, Error, LedgerId, LedgerStore, LedgerWriter, ReadError};

pub(super) struct Client(pub(super) Rc<Shard>);

impl Shard {
    /// Does `work` on a reading thread. `None` when the store was closed meanwhile.
    async fn off_shard<T: Send + 'static>(&self, work: impl FnOnce(&Engine) -> T + Send + 'static) -> Option<T> {
        let (sender, result) = oneshot::channel();
        self.engine.readers.submit(Box::new(move |engine| {
            // Whoever asked may have gone.
            let _ = sender.send(work(engine));
        }));
        result.await.ok()
    }

    async fn recover(&self, ledger: LedgerId, epoch: Epoch) -> Result<Closed, Error> {
        loop {
            let journal = self.engine.journal_of(ledger);
            let held = self.engine.journals[journal].holds(ledger.0);
            let by = Sealer::Successor(if held { None } else { Some(self.look_up(ledger).await?) });
            match self.ask(journal, |reply| Command::Seal { ledger: ledger.0, epoch, by, reply }).await? {
                Answer::Sealed(closed) => return Ok(closed),
                Answer::Done | Answer::LookAgain => {}
            }
        }
    }

    /// What the segments know of a ledger that is to be recovered.
    async fn look_up(&self, ledger: LedgerId) -> Result<Known, Error> {
        let located = self.off_shard(move |engine| {
            let Some(found) = engine.locate(ledger.0)? else { return Ok(None) };
            Ok(Some(Known { epoch: found.epoch, closed: found.closed(ledger.0)?, version: found.version }))
        });
        match located.await {
            None => Err(closed()),
            Some(Err(error)) => Err(Error::Io(cause(&error))),
            Some(Ok(None)) => Err(Error::NoLedger(ledger)),
            Some(Ok(Some(known))) => Ok(known),
        }
    }
}

fn closed() -> Error {
    Error::Unavailable(Arc::from("the store is closed"))
}

fn no_numbers() -> Error {
    Error::Unavailable(Arc::from("the disk takes no note of the ledgers' numbers"))
}

impl LedgerStore for Client {
    fn create(
        &self,
        epoch: Epoch,
        CreateOptions { journal_key, class }: CreateOptions,
        sink: Rc<dyn AppendSink>,
    ) -> LocalBoxFuture<'static, Result<Box<dyn LedgerWriter>, Error>> {
        let shard = Rc::clone(&self.0);
        async move {
            let id = shard.engine.next_ledger().ok_or_else(no_numbers)?;
            let journal = (journal_key % shard.lanes.len() as u64) as usize;
            let ledger = Ledger::new(id, epoch, journal, class, sink);
            // Known before it is made: a failure may follow on the heels of the answer.
            shard.ledgers.borrow_mut().insert(id.0, Rc::clone(&ledger));
            let writer = Box::new(Writer { shard: Rc::clone(&shard), ledger });
            shard.ask(journal, |reply| Command::Create { ledger: id.0, epoch, class, reply }).await?;
            Ok(writer as Box<dyn LedgerWriter>)
        }
        .boxed_local()
    }

    fn read_cached(&self, ledger: LedgerId, first: u64, last: u64, max_bytes: usize, out: &mut Vec<Entry>) -> usize {
        let ledgers = self.0.ledgers.borrow();
        ledgers.get(&ledger.0).map_or(0, |ledger| self.0.tail.borrow().read(ledger, first, last, max_bytes, out))
    }

    fn read(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Vec<Entry>, ReadError>> {
        let shard = Rc::clone(&self.0);
        async move {
            let read = shard.off_shard(move |engine| engine.read(ledger, first, last, max_bytes)).await;
            read.unwrap_or_else(|| Err(ReadError::Io { ledger, cause: Arc::from("the store is closed") }))
        }
        .boxed_local()
    }

    fn recover(&self, ledger: LedgerId, epoch: Epoch) -> LocalBoxFuture<'static, Result<Closed, Error>> {
        let shard = Rc::clone(&self.0);
        async move { shard.recover(ledger, epoch).await }.boxed_local()
    }

    fn delete(&self, ledger: LedgerId) -> LocalBoxFuture<'static, Result<(), Error>> {
        let shard = Rc::clone(&self.0);
        async move {
            let journal = shard.engine.journal_of(ledger);
            shard.ask(journal, |reply| Command::Delete { ledger: ledger.0, reply }).await?;
            shard.ledgers.borrow_mut().remove(&ledger.0);
            Ok(())
        }
        .boxed_local()
    }

    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<LedgerId>, Error>> {
        let shard = Rc::clone(&self.0);
        async move {
            let listed = shard.off_shard(Engine::list).await.ok_or_else(closed)?;
            listed.map_err(|error| Error::Io(cause(&error)))
        }
        .boxed_local()
    }
}
