//! The right to append to a ledger on bookies.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::LocalBoxFuture;
use plerion_ledger::{AppendError, AppendSink, Body, Closed, Epoch, Error, LedgerId, LedgerWriter};

use super::runner::Runner;
use super::shard::{MADE_BY_KEY, Shard, random, store_error};
use crate::digest::{Digester, MasterKey};
use crate::entry::HEADER;
use crate::ledger_metadata::LedgerMetadata;
use crate::protocol::defects::Defects;
use crate::protocol::recovery::EPOCH_KEY;
use crate::protocol::writer::{self, Mode, Writer as Machine};
use crate::wire::v2;

/// Bytes left free in a frame, so that whoever recovers the ledger can write an entry back in either protocol.
const SPARE: usize = 128;

type CloseOutcome = Result<Closed, writer::Error>;

/// What the machine's owner is told, on its way to the sink.
struct Told {
    shard: Rc<Shard>,
    ledger: LedgerId,
    epoch: Epoch,
    sink: Rc<dyn AppendSink>,
    /// Bodies that wait for acknowledgement, for the tail.
    bodies: RefCell<std::collections::VecDeque<Bytes>>,
    acknowledged: Cell<u64>,
    segments: Cell<usize>,
    closing: RefCell<Option<oneshot::Sender<CloseOutcome>>>,
    failed: RefCell<Option<AppendError>>,
    /// The writer was dropped: nobody wants to know any more.
    abandoned: Cell<bool>,
}

impl Told {
    fn event(self: &Rc<Self>, event: writer::Event) {
        match event {
            writer::Event::Advanced(last) => self.advanced(last.unsigned_abs()),
            writer::Event::Closed { last, length } => {
                let closed = Closed { last: u64::try_from(last).ok(), length: length.unsigned_abs() };
                self.answer_close(Ok(closed));
            }
            writer::Event::Failed(error) => {
                self.bodies.borrow_mut().clear();
                let me = Rc::clone(self);
                tokio::task::spawn_local(async move { me.failed(error).await });
            }
        }
    }

    fn advanced(&self, last: u64) {
        {
            let (mut tail, mut bodies) = (self.shard.tail.borrow_mut(), self.bodies.borrow_mut());
            while self.acknowledged.get() <= last {
                let entry = self.acknowledged.get();
                if let Some(body) = bodies.pop_front() {
                    tail.push(self.ledger, entry, body);
                }
                self.acknowledged.set(entry + 1);
            }
        }
        self.note_changes();
        if !self.abandoned.get() {
            self.sink.advanced(last);
        }
    }

    fn note_changes(&self) {
        let writer = self.shard.writers.borrow().get(&self.ledger).and_then(std::rc::Weak::upgrade);
        let Some(writer) = writer else { return };
        let segments = writer.machine.borrow().stored().metadata.segments.len();
        let changes = segments.saturating_sub(self.segments.replace(segments));
        self.shard.metrics.ensemble_changes.fetch_add(changes as u64, Ordering::Relaxed);
    }

    async fn failed(&self, error: writer::Error) {
        let told = match &error {
            writer::Error::Fenced => {
                // Who it was is written down with the recovery; if that cannot be read the fact stands all the same.
                let by = self.shard.directory.get(self.ledger).await.ok().flatten();
                let by = by.and_then(|found| epoch_of(&found.metadata)).unwrap_or(self.epoch);
                AppendError::Fenced { ledger: self.ledger, by }
            }
            writer::Error::Closed => AppendError::Closed(self.ledger),
            other => AppendError::Indeterminate { ledger: self.ledger, cause: Arc::from(other.to_string()) },
        };
        *self.failed.borrow_mut() = Some(told.clone());
        if !self.abandoned.get() {
            self.sink.failed(told);
        }
        self.answer_close(Err(error));
    }

    fn answer_close(&self, outcome: CloseOutcome) {
        if let Some(closing) = self.closing.borrow_mut().take() {
            // Whoever closed it may have gone.
            let _ = closing.send(outcome);
        }
    }
}

fn epoch_of(metadata: &LedgerMetadata) -> Option<Epoch> {
    let text = std::str::from_utf8(metadata.custom(EPOCH_KEY)?).ok()?;
    text.parse().ok().map(Epoch)
}

pub(super) async fn create(
    shard: Rc<Shard>,
    epoch: Epoch,
    sink: Rc<dyn AppendSink>,
) -> Result<Box<dyn LedgerWriter>, Error> {
    let config = &shard.config;
    let size = config.quorum.ensemble();
    let mut ensemble = shard.pool_now().choose(size);
    if ensemble.is_none() {
        shard.refresh_bookies().await.map_err(|error| store_error(&error))?;
        ensemble = shard.pool_now().choose(size);
    }
    let ensemble = ensemble.ok_or_else(|| {
        Error::Unavailable(Arc::from(format!("not enough bookies: a ledger needs {size} that take writes")))
    })?;
    let mut metadata = LedgerMetadata::open(config.quorum, ensemble, config.digest, config.password.clone());
    metadata.token = Some((random() >> 1) as i64 | 1);
    metadata.custom.clone_from(&config.custom);
    metadata.set_custom(MADE_BY_KEY, Bytes::from_static(concat!("plerion/", env!("CARGO_PKG_VERSION")).as_bytes()));
    metadata.set_custom(EPOCH_KEY, Bytes::from(epoch.0.to_string()));
    let (ledger, stored) = shard.directory.create(metadata).await.map_err(|error| store_error(&error))?;
    let max_body = v2::max_body(config.connections.max_frame, config.digest.size()).saturating_sub(SPARE);
    let machine = Machine::new(
        writer::Config {
            ledger,
            digester: Digester::new(config.digest, &config.password),
            key: MasterKey::of(&config.password),
            max_body,
            max_changes: config.max_ensemble_changes,
            max_pending_entries: config.max_pending_entries,
            max_pending_bytes: config.max_pending_bytes,
            defects: Defects::NONE,
        },
        stored,
    );
    let told = Rc::new(Told {
        shard: Rc::clone(&shard),
        ledger,
        epoch,
        sink,
        bodies: RefCell::default(),
        acknowledged: Cell::new(0),
        segments: Cell::new(1),
        closing: RefCell::default(),
        failed: RefCell::default(),
        abandoned: Cell::new(false),
    });
    let listener = Rc::clone(&told);
    let runner = Runner::new(&shard, ledger, machine, Box::new(move |event| listener.event(event)));
    shard.writers.borrow_mut().insert(ledger, Rc::downgrade(&runner));
    Ok(Box::new(Writer { runner, told }))
}

struct Writer {
    runner: Rc<Runner<Machine>>,
    told: Rc<Told>,
}

impl LedgerWriter for Writer {
    fn ledger(&self) -> LedgerId {
        self.told.ledger
    }

    fn append(&mut self, body: Body<'_>) -> Result<u64, AppendError> {
        if let Some(failed) = &*self.told.failed.borrow() {
            return Err(failed.clone());
        }
        let mut out = Vec::new();
        let entry = {
            let mut pool = self.told.shard.pool_now();
            let mut machine = self.runner.machine.borrow_mut();
            let entry = machine.append(body.bytes, &mut *pool, &mut out).map_err(|error| match error {
                writer::Error::Closed => AppendError::Closed(self.told.ledger),
                writer::Error::Fenced => AppendError::Fenced { ledger: self.told.ledger, by: self.told.epoch },
                other => AppendError::Unavailable(Arc::from(other.to_string())),
            })?;
            if let Some(frame) = machine.frame(entry) {
                let from = v2::ADD_PREFIX + HEADER + self.told.shard.config.digest.size();
                self.told.bodies.borrow_mut().push_back(frame.slice(from..));
            }
            entry
        };
        self.runner.carry_out_quietly(out);
        Ok(entry.unsigned_abs())
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, Result<Closed, Error>> {
        async move {
            let (ledger, failed) = (self.told.ledger, self.told.failed.borrow().clone());
            if let Some(failed) = failed {
                return Err(failed.into());
            }
            let (sender, closed) = oneshot::channel();
            *self.told.closing.borrow_mut() = Some(sender);
            let mut out = Vec::new();
            self.runner.machine.borrow_mut().close(Mode::Drain, &mut out);
            self.runner.carry_out(out);
            match closed.await {
                Ok(Ok(closed)) => Ok(closed),
                Ok(Err(writer::Error::Deleted)) => Err(Error::NoLedger(ledger)),
                Ok(Err(_)) | Err(_) => {
                    let failed = self.told.failed.borrow().clone();
                    Err(failed.map_or_else(|| Error::Unavailable(Arc::from("the store is closed")), Error::from))
                }
            }
        }
        .boxed_local()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.told.abandoned.set(true);
        self.told.shard.writers.borrow_mut().remove(&self.told.ledger);
    }
}
