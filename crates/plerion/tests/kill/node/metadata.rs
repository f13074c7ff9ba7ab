use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use plerion_ledger::disk::sim::Machine;
use plerion_metadata::{
    Durability, Error, Expect, MemoryStore, MetadataStore, PutOptions, Record, Result, SessionEvents, Watch, Written,
};
use rand::Rng;
use rand::rngs::SmallRng;

/// Metadata of a machine that may lose power: writes that need not be durable may be lost with it, the latest first.
#[derive(Default)]
pub(super) struct Metadata {
    written: Arc<Mutex<Writes>>,
    over: Arc<AtomicBool>,
}

/// Every write that was made, in order.
#[derive(Default)]
struct Writes {
    all: Vec<Write>,
    /// How many of them are durable.
    durable: usize,
}

enum Write {
    Put(String, Bytes, bool),
    Delete(String),
}

/// The metadata as one life of a broker has it.
pub(super) struct Session {
    store: MemoryStore,
    written: Arc<Mutex<Writes>>,
    machine: Machine,
    over: Arc<AtomicBool>,
}

impl Metadata {
    /// The metadata for a life that begins: what is left of what earlier lives wrote.
    pub(super) fn session(&mut self, machine: &Machine) -> Session {
        self.over = Arc::default();
        let before = MemoryStore::new();
        let writes = self.written.lock();
        for write in &writes.all {
            let done = match write {
                Write::Put(path, value, ephemeral) => {
                    let options = PutOptions { ephemeral: *ephemeral, ..PutOptions::default() };
                    now(before.put(path, value.clone(), Expect::Any, options)).map(drop)
                }
                Write::Delete(path) => now(before.delete(path, Expect::Any)),
            };
            done.expect("it went well the first time");
        }
        drop(writes);
        let store = before.open_session();
        before.expire_session();
        Session { store, written: self.written.clone(), machine: machine.clone(), over: self.over.clone() }
    }

    /// Power is lost.
    pub(super) fn cut(&self, rng: &mut SmallRng) {
        self.over.store(true, Ordering::Release);
        let mut writes = self.written.lock();
        let kept = rng.random_range(writes.durable..=writes.all.len());
        writes.all.truncate(kept);
        writes.durable = kept;
    }
}

impl Session {
    /// Makes a change, unless the machine dies of it: then it may or may not be made.
    fn write<T>(
        &self,
        path: &str,
        durability: Durability,
        change: BoxFuture<'_, Result<T>>,
        record: impl FnOnce(&T) -> Write,
    ) -> Result<T> {
        let mut writes = self.written.lock();
        let was_alive = !self.over.load(Ordering::Acquire) && !self.machine.is_dead();
        if !was_alive {
            return Err(Error::Unavailable { why: "the machine is dead".into() });
        }
        let survives = self.machine.change();
        if !survives && durability == Durability::Synced && writes.all.len().is_multiple_of(2) {
            return Err(unknown(path));
        }
        let done = now(change)?;
        writes.all.push(record(&done));
        if durability == Durability::Synced {
            writes.durable = writes.all.len();
        }
        if survives { Ok(done) } else { Err(unknown(path)) }
    }

    fn alive(&self) -> Result<()> {
        match self.over.load(Ordering::Acquire) {
            true => Err(Error::Unavailable { why: "the machine is dead".into() }),
            false => Ok(()),
        }
    }
}

fn unknown(path: &str) -> Error {
    Error::UnknownOutcome { path: path.into(), why: "the machine died".into() }
}

/// What a store in memory answers at once.
fn now<T>(answer: BoxFuture<'_, T>) -> T {
    answer.now_or_never().expect("a store in memory answers at once")
}

impl MetadataStore for Session {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        Box::pin(async move {
            self.alive()?;
            self.store.get(path).await
        })
    }

    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(async move {
            let change = self.store.put(path, value.clone(), expect, options);
            let record = |written: &Written| Write::Put(written.path.clone(), value, options.ephemeral);
            self.write(path, options.durability, change, record)
        })
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let change = self.store.delete(path, expect);
            self.write(path, Durability::Synced, change, |()| Write::Delete(path.into()))
        })
    }

    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            self.alive()?;
            self.store.children_page(path, after, limit).await
        })
    }

    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>> {
        Box::pin(async move {
            self.alive()?;
            self.store.scan(path, after, limit).await
        })
    }

    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        self.store.watch(path)
    }

    fn session_events(&self) -> SessionEvents {
        self.store.session_events()
    }
}
