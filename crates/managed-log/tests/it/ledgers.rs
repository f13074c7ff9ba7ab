//! A ledger store that refuses deletions when told to, and counts recoveries.

use std::cell::Cell;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use plerion_ledger::{
    AppendSink, Closed, CreateOptions, Entry, Epoch, Error, LedgerId, LedgerStore, LedgerWriter, ReadError,
};

pub(crate) struct Watched {
    pub(crate) store: Rc<dyn LedgerStore>,
    pub(crate) deny_deletes: Cell<bool>,
    pub(crate) recoveries: Cell<usize>,
}

impl Watched {
    pub(crate) fn new(store: Rc<dyn LedgerStore>) -> Rc<Self> {
        Rc::new(Self { store, deny_deletes: Cell::new(false), recoveries: Cell::new(0) })
    }
}

impl LedgerStore for Watched {
    fn create(
        &self,
        epoch: Epoch,
        options: CreateOptions,
        sink: Rc<dyn AppendSink>,
    ) -> LocalBoxFuture<'static, Result<Box<dyn LedgerWriter>, Error>> {
        self.store.create(epoch, options, sink)
    }

    fn read_cached(&self, ledger: LedgerId, first: u64, last: u64, max_bytes: usize, out: &mut Vec<Entry>) -> usize {
        self.store.read_cached(ledger, first, last, max_bytes, out)
    }

    fn read(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Vec<Entry>, ReadError>> {
        self.store.read(ledger, first, last, max_bytes)
    }

    fn recover(&self, ledger: LedgerId, epoch: Epoch) -> LocalBoxFuture<'static, Result<Closed, Error>> {
        self.recoveries.set(self.recoveries.get() + 1);
        self.store.recover(ledger, epoch)
    }

    fn delete(&self, ledger: LedgerId) -> LocalBoxFuture<'static, Result<(), Error>> {
        if self.deny_deletes.get() {
            async { Err(Error::Unavailable("the test says so".into())) }.boxed_local()
        } else {
            self.store.delete(ledger)
        }
    }

    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<LedgerId>, Error>> {
        self.store.list()
    }
}
