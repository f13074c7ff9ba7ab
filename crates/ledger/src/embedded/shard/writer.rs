//! The right to append to a ledger of the embedded store.

use std::rc::Rc;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::{Ledger, Shard};
use crate::embedded::inbox::Answer;
use crate::embedded::journal::{Command, Sealer};
use crate::{AppendError, Body, Class, Closed, Error, LedgerId, LedgerWriter};

/// The longest entry, in bytes.
const LONGEST: usize = 1 << 30;

pub(super) struct Writer {
    pub(super) shard: Rc<Shard>,
    pub(super) ledger: Rc<Ledger>,
}

impl LedgerWriter for Writer {
    fn ledger(&self) -> LedgerId {
        self.ledger.id
    }

    fn append(&mut self, body: Body<'_>) -> Result<u64, AppendError> {
        if let Some(error) = &*self.ledger.failed.borrow() {
            return Err(error.clone());
        }
        if self.ledger.class == Class::Messages
            && let Some(reason) = self.shard.engine.journals[self.ledger.journal].refusal()
        {
            return Err(AppendError::Unavailable(reason));
        }
        if body.bytes.len() > LONGEST {
            return Err(AppendError::Unavailable(Arc::from("an entry must not be longer than 1 GiB")));
        }
        Ok(self.shard.append(&self.ledger, body))
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, Result<Closed, Error>> {
        async move {
            let (ledger, epoch) = (self.ledger.id, self.ledger.epoch);
            let seal = |reply| Command::Seal { ledger: ledger.0, epoch, by: Sealer::Writer, reply };
            let answer = self.shard.ask(self.ledger.journal, seal).await;
            // What the sink was told of is the reason.
            if let Some(error) = &*self.ledger.failed.borrow() {
                return Err(error.clone().into());
            }
            match answer? {
                Answer::Sealed(closed) => Ok(closed),
                Answer::Done | Answer::LookAgain => Err(Error::NoLedger(ledger)),
            }
        }
        .boxed_local()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.ledger.abandon();
        if self.ledger.slots.borrow().is_empty() {
            self.shard.ledgers.borrow_mut().remove(&self.ledger.id.0);
        }
        let journal = self.ledger.journal;
        self.shard.ship(journal, &mut self.shard.lanes[journal].borrow_mut());
        // A journal that is stopped holds nothing.
        let _ = self.shard.engine.journals[journal].push(Command::Release { ledger: self.ledger.id.0 });
    }
}
