//! A metadata store under the control of a test: it can crash, which loses eventual writes, and it can fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use plerion_metadata::{
    Durability, Error, Expect, MetadataStore, PutOptions, Record, Result, SessionEvents, Stat, Watch, Written,
};

/// What is to happen to the next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Unavailable,
    /// The write happens, and the caller is not told.
    UnknownDone,
    /// The write does not happen, and the caller is not told.
    UnknownLost,
}

#[derive(Clone)]
pub(crate) struct TestMetadata {
    shared: Arc<Mutex<Shared>>,
    life: u64,
}

#[derive(Default)]
struct Shared {
    rows: Rows,
    durable: Rows,
    revision: u64,
    life: u64,
    fault: Option<Fault>,
    down: bool,
    synced_writes: u64,
}

type Rows = BTreeMap<String, Record>;

impl TestMetadata {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default(), life: 0 }
    }

    /// The process is gone: handles of its time fail. Gives a handle of the next life.
    pub(crate) fn crash(&self, keep_eventual: bool) -> Self {
        let mut shared = self.shared.lock().unwrap();
        if !keep_eventual {
            shared.rows = shared.durable.clone();
        }
        shared.life += 1;
        shared.fault = None;
        shared.down = false;
        Self { shared: Arc::clone(&self.shared), life: shared.life }
    }

    pub(crate) fn fail_next(&self, fault: Fault) {
        self.shared.lock().unwrap().fault = Some(fault);
    }

    pub(crate) fn set_down(&self, down: bool) {
        self.shared.lock().unwrap().down = down;
    }

    /// How many durable writes there were.
    pub(crate) fn synced_writes(&self) -> u64 {
        self.shared.lock().unwrap().synced_writes
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.shared.lock().unwrap().rows.keys().cloned().collect()
    }

    /// Overwrites a row as somebody who does not care for its version.
    pub(crate) fn intrude(&self, path: &str) {
        let mut shared = self.shared.lock().unwrap();
        let value = shared.rows[path].value.clone();
        shared.write(path, value, Durability::Synced);
    }

    pub(crate) fn corrupt(&self, path: &str) {
        let mut shared = self.shared.lock().unwrap();
        let mut value = shared.rows[path].value.to_vec();
        value[3] ^= 1;
        shared.write(path, Bytes::from(value), Durability::Synced);
    }

    /// A write takes effect between two polls, so that its caller can go away before and after.
    async fn write<T: Send>(
        &self,
        path: &str,
        expect: Expect,
        act: impl FnOnce(&mut Shared) -> Result<T> + Send,
    ) -> Result<T> {
        tokio::task::yield_now().await;
        let outcome = self.write_now(path, expect, act);
        tokio::task::yield_now().await;
        outcome
    }

    fn write_now<T>(&self, path: &str, expect: Expect, act: impl FnOnce(&mut Shared) -> Result<T>) -> Result<T> {
        let mut shared = self.shared.lock().unwrap();
        if shared.life != self.life {
            return Err(Error::Closed);
        }
        let fault = shared.fault.take();
        if shared.down || fault == Some(Fault::Unavailable) {
            return Err(Error::Unavailable { why: "the test says so".to_owned() });
        }
        let unknown = || Error::UnknownOutcome { path: path.to_owned(), why: "the test says so".to_owned() };
        if fault == Some(Fault::UnknownLost) {
            return Err(unknown());
        }
        let found = shared.rows.get(path).map(|row| row.stat.version);
        match (expect, found) {
            (Expect::Absent, Some(_)) => return Err(Error::AlreadyExists { path: path.to_owned() }),
            (Expect::Version(version), found) if found != Some(version) => {
                return Err(Error::BadVersion { path: path.to_owned(), expected: expect, found });
            }
            _ => {}
        }
        let outcome = act(&mut shared);
        if fault == Some(Fault::UnknownDone) { Err(unknown()) } else { outcome }
    }
}

impl Shared {
    fn write(&mut self, path: &str, value: Bytes, durability: Durability) -> Stat {
        self.revision += 1;
        let before = self.rows.get(path).map(|row| row.stat);
        let stat = Stat {
            version: before.map_or(0, |stat| stat.version + 1),
            created: before.map_or(self.revision, |stat| stat.created),
            modified: self.revision,
            ephemeral: false,
            created_by_self: false,
        };
        self.rows.insert(path.to_owned(), Record { value, stat });
        self.synced(durability);
        stat
    }

    fn synced(&mut self, durability: Durability) {
        if durability == Durability::Synced {
            self.durable = self.rows.clone();
            self.synced_writes += 1;
        }
    }
}

impl MetadataStore for TestMetadata {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let shared = self.shared.lock().unwrap();
            if shared.life != self.life {
                return Err(Error::Closed);
            }
            if shared.down {
                return Err(Error::Unavailable { why: "the test says so".to_owned() });
            }
            Ok(shared.rows.get(path).cloned())
        })
    }

    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(self.write(path, expect, move |shared| {
            let stat = shared.write(path, value, options.durability);
            Ok(Written { path: path.to_owned(), stat })
        }))
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.write(path, expect, move |shared| {
            let removed = shared.rows.remove(path);
            shared.synced(Durability::Synced);
            removed.map(drop).ok_or_else(|| Error::NotFound { path: path.to_owned() })
        }))
    }

    fn children_page<'a>(
        &'a self,
        _path: &'a str,
        _after: Option<&'a str>,
        _limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>> {
        let below = format!("{path}/");
        let rows = self.shared.lock().unwrap().rows.clone();
        let rows = rows
            .into_iter()
            .filter(move |(row, _)| row.starts_with(&below) && after.is_none_or(|after| row.as_str() > after));
        let page = rows.take(limit).collect();
        Box::pin(async { Ok(page) })
    }

    fn watch<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async { Ok(stream::empty().boxed()) })
    }

    fn session_events(&self) -> SessionEvents {
        stream::empty().boxed()
    }
}
