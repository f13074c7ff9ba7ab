//! The memory store as one shard sees it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::{Shared, State};
use crate::{
    AppendError, AppendSink, Body, Closed, CreateOptions, Entry, Epoch, Error, LedgerId, LedgerStore, LedgerWriter,
    ReadError,
};

pub(super) struct Shard {
    shared: Arc<Shared>,
    writers: RefCell<BTreeMap<LedgerId, Registration>>,
}

/// Whom to tell about a ledger, and what was told already.
#[derive(Clone)]
struct Registration {
    sink: Rc<dyn AppendSink>,
    life: u64,
    told: usize,
    failed: bool,
}

impl Shard {
    pub(super) fn start(shared: Arc<Shared>) -> Rc<dyn LedgerStore> {
        let shard = Rc::new(Self { shared, writers: RefCell::default() });
        tokio::task::spawn_local(deliver(Rc::downgrade(&shard), Arc::clone(&shard.shared)));
        Rc::new(Client(shard))
    }

    /// What the sinks have not been told yet.
    fn news(&self, state: &State) -> Vec<News> {
        let mut news = Vec::new();
        for (id, writer) in self.writers.borrow_mut().iter_mut().filter(|(_, writer)| writer.life == state.life) {
            let Some(ledger) = state.ledgers.get(id) else { continue };
            let advanced = (ledger.acknowledged > writer.told).then(|| ledger.acknowledged as u64 - 1);
            writer.told = ledger.acknowledged;
            let failure = ledger.failure.clone().filter(|_| ledger.is_resolved() && !writer.failed);
            writer.failed |= failure.is_some();
            if advanced.is_some() || failure.is_some() {
                news.push(News { sink: Rc::clone(&writer.sink), advanced, failure });
            }
        }
        news
    }

    /// Whether the sink of `id` knows that all of the first `count` entries are durable.
    fn has_told(&self, id: LedgerId, count: usize) -> bool {
        self.writers.borrow().get(&id).is_none_or(|writer| writer.told >= count)
    }
}

struct News {
    sink: Rc<dyn AppendSink>,
    advanced: Option<u64>,
    failure: Option<AppendError>,
}

/// Tells the sinks of a shard how their appends went, for as long as the shard lives.
async fn deliver(shard: Weak<Shard>, shared: Arc<Shared>) {
    loop {
        let news = shared
            .wait(|state| {
                let Some(shard) = shard.upgrade() else { return Some(None) };
                let news = shard.news(state);
                (!news.is_empty()).then_some(Some(news))
            })
            .await;
        let Some(news) = news else { return };
        for News { sink, advanced, failure } in news {
            if let Some(last) = advanced {
                sink.advanced(last);
            }
            if let Some(error) = failure {
                sink.failed(error);
            }
        }
        // `close` waits for its sink to have been told.
        shared.changed.notify_waiters();
    }
}

struct Client(Rc<Shard>);

impl Drop for Shard {
    fn drop(&mut self) {
        self.shared.changed.notify_waiters();
    }
}

impl LedgerStore for Client {
    fn create(
        &self,
        epoch: Epoch,
        _options: CreateOptions,
        sink: Rc<dyn AppendSink>,
    ) -> LocalBoxFuture<'static, Result<Box<dyn LedgerWriter>, Error>> {
        let shard = Rc::clone(&self.0);
        async move {
            let (id, life) = {
                let mut state = shard.shared.state.lock();
                if let Some(reason) = &state.refusal {
                    return Err(Error::Unavailable(Arc::clone(reason)));
                }
                (state.create(epoch), state.life)
            };
            shard.writers.borrow_mut().insert(id, Registration { sink, life, told: 0, failed: false });
            let writer: Box<dyn LedgerWriter> = Box::new(Writer { shard, id, life });
            Ok(writer)
        }
        .boxed_local()
    }

    fn read_cached(&self, ledger: LedgerId, first: u64, last: u64, max_bytes: usize, out: &mut Vec<Entry>) -> usize {
        let state = self.0.shared.state.lock();
        state.ledgers.get(&ledger).map_or(0, |ledger| ledger.read(first, last, max_bytes, out))
    }

    fn read(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Vec<Entry>, ReadError>> {
        let shared = Arc::clone(&self.0.shared);
        async move {
            let state = shared.state.lock();
            let stored = state.ledgers.get(&ledger).ok_or(ReadError::NoLedger(ledger))?;
            let mut out = Vec::new();
            match stored.read(first, last, max_bytes, &mut out) {
                0 if stored.corrupt.contains(&first) => {
                    Err(ReadError::Corrupt { ledger, entry: first, place: Arc::from("memory") })
                }
                0 => Err(ReadError::NoEntry { ledger, entry: first }),
                _ => Ok(out),
            }
        }
        .boxed_local()
    }

    fn recover(&self, id: LedgerId, epoch: Epoch) -> LocalBoxFuture<'static, Result<Closed, Error>> {
        let shared = Arc::clone(&self.0.shared);
        async move {
            {
                let mut state = shared.state.lock();
                let ledger = state.ledgers.get_mut(&id).ok_or(Error::NoLedger(id))?;
                if ledger.epoch > epoch {
                    return Err(Error::Fenced { ledger: id, by: ledger.epoch });
                }
                ledger.fence(id, epoch);
            }
            shared.changed.notify_waiters();
            let sealed = shared
                .wait(|state| match state.ledgers.get_mut(&id) {
                    None => Some(Err(Error::NoLedger(id))),
                    Some(ledger) => ledger.is_resolved().then(|| Ok(ledger.seal())),
                })
                .await;
            shared.changed.notify_waiters();
            sealed
        }
        .boxed_local()
    }

    fn delete(&self, ledger: LedgerId) -> LocalBoxFuture<'static, Result<(), Error>> {
        let shared = Arc::clone(&self.0.shared);
        async move {
            shared.state.lock().ledgers.remove(&ledger);
            shared.changed.notify_waiters();
            Ok(())
        }
        .boxed_local()
    }

    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<LedgerId>, Error>> {
        let shared = Arc::clone(&self.0.shared);
        async move { Ok(shared.state.lock().ledgers.keys().copied().collect()) }.boxed_local()
    }
}

struct Writer {
    shard: Rc<Shard>,
    id: LedgerId,
    life: u64,
}

impl LedgerWriter for Writer {
    fn ledger(&self) -> LedgerId {
        self.id
    }

    fn append(&mut self, body: Body<'_>) -> Result<u64, AppendError> {
        let shared = &self.shard.shared;
        let mut state = shared.state.lock();
        let dead = state.life != self.life;
        let (hold, refusal) = (state.hold, state.refusal.clone());
        let ledger = state.ledgers.get_mut(&self.id).filter(|_| !dead).ok_or(AppendError::Closed(self.id))?;
        if let Some(error) = &ledger.failure {
            return Err(error.clone());
        }
        if ledger.sealed {
            return Err(AppendError::Closed(self.id));
        }
        if let Some(reason) = refusal {
            return Err(AppendError::Unavailable(reason));
        }
        ledger.entries.push(Bytes::copy_from_slice(body.bytes));
        if !hold {
            ledger.acknowledge(usize::MAX);
        }
        let id = ledger.entries.len() as u64 - 1;
        drop(state);
        shared.changed.notify_waiters();
        Ok(id)
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, Result<Closed, Error>> {
        async move {
            let (id, life, shard) = (self.id, self.life, Rc::clone(&self.shard));
            shard
                .shared
                .wait(|state| {
                    let dead = state.life != life;
                    let Some(ledger) = state.ledgers.get_mut(&id).filter(|_| !dead) else {
                        return Some(Err(Error::NoLedger(id)));
                    };
                    match &ledger.failure {
                        Some(error) => Some(Err(Error::Append(error.clone()))),
                        None if ledger.acknowledged == ledger.entries.len()
                            && shard.has_told(id, ledger.acknowledged) =>
                        {
                            Some(Ok(ledger.seal()))
                        }
                        None => None,
                    }
                })
                .await
        }
        .boxed_local()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shard.writers.borrow_mut().remove(&self.id);
    }
}
