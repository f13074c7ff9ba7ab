//! Handles of an embedded store.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::device::{Blocks, Device};
use super::disk::Disk;
use super::open::{OpenError, open_file};
use super::shared::Shared;
use super::state::State;
use super::writer::Writer;
use crate::sessions::Session;
use crate::{Error, Expect, MetadataStore, PutOptions, Record, Result, SessionEvents, Watch, Written, key, path};

/// How an embedded store uses its machine.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// Memory for pages of the file, in bytes.
    pub cache_bytes: usize,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self { cache_bytes: 64 << 20 }
    }
}

/// A handle of a store that is kept in one file and belongs to one process.
///
/// Memory does not grow with the number of rows. Ephemeral rows end with the handle that made them, or with the
/// process. After an I/O error such as a full disk, writes fail with [`Error::Unavailable`] and nothing is half done;
/// reads go on, and writes do when the disk can be written again. After a failed sync, writes are refused until the
/// process starts anew, because no later sync could be believed.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    session: Session,
}

impl EmbeddedStore {
    /// Opens the file or creates it, and drops the ephemeral rows of the process that had it before.
    ///
    /// Blocks for the time the file takes to be read, which after a crash grows with its size: about a second for a
    /// million rows.
    pub fn open(file: &Path, options: &EmbeddedOptions) -> Result<Self, OpenError> {
        Self::open_blocks(Arc::new(open_file(file)?), options)
    }

    pub(super) fn open_blocks(blocks: Arc<dyn Blocks>, options: &EmbeddedOptions) -> Result<Self, OpenError> {
        let device = Device::new(blocks);
        let disk = Disk::open(device.clone(), options.cache_bytes)?;
        device.reserve();
        let revision = disk.start()?;
        let shared = Arc::new(Shared::new(State::new(disk.snapshot()?, revision)));
        let writer = Writer::new(Arc::clone(&shared), device, options.cache_bytes);
        let handle = Self::attach(shared);
        thread::Builder::new().name("metadata".to_owned()).spawn(move || writer.run(disk)).map_err(redb::Error::Io)?;
        Ok(handle)
    }

    /// Another handle of the same store, with a session of its own.
    pub fn open_session(&self) -> Self {
        Self::attach(Arc::clone(&self.shared))
    }

    /// Ends this handle's session as a remote engine does when it has not heard of a client for too long: its
    /// ephemeral rows vanish, and the handle goes on with a new session.
    pub fn expire_session(&self) {
        let mut state = self.shared.state.lock();
        state.end_session(self.session.id());
        self.session.replace(state.open_session());
        drop(state);
        self.shared.work.notify_one();
    }

    /// Makes everything durable and frees the file; every handle answers [`Error::Closed`] from then on. Dropping the
    /// last handle does the same in the background.
    pub async fn close(&self) {
        self.begin_close();
        let mut closed = self.shared.closed.subscribe();
        // An error means that the sender is gone, and this handle holds it.
        let _ = closed.wait_for(|closed| *closed).await;
    }

    fn attach(shared: Arc<Shared>) -> Self {
        let session = shared.state.lock().open_session();
        Self { shared, session: Session::new(session) }
    }

    fn begin_close(&self) {
        self.shared.state.lock().closing = true;
        self.shared.work.notify_one();
    }

    async fn do_put(&self, path: &str, value: Bytes, expect: Expect, options: PutOptions) -> Result<Written> {
        path::validate_row(path)?;
        if !options.sequential {
            self.shared.prefetch(&key::encode(path));
        }
        self.shared.write(|state| state.put(path, value.clone(), expect, options, self.session.id())).await
    }

    async fn do_delete(&self, path: &str, expect: Expect) -> Result<()> {
        path::validate_row(path)?;
        self.shared.prefetch(&key::encode(path));
        self.shared.write(|state| Ok(((), state.delete(path, expect)?))).await
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.end_session(self.session.id());
        state.closing |= !state.has_sessions();
        drop(state);
        self.shared.work.notify_one();
    }
}

impl MetadataStore for EmbeddedStore {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        Box::pin(async move {
            path::validate(path)?;
            let row = self.shared.get(&key::encode(path)).await?;
            Ok(row.map(|row| row.record(self.session.id())))
        })
    }

    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(self.do_put(path, value, expect, options))
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.do_delete(path, expect))
    }

    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            path::validate(path)?;
            self.shared.children_page(&key::encode(path), after, limit).await
        })
    }

    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>> {
        Box::pin(async move {
            path::validate(path)?;
            let rows = self.shared.scan(&key::encode(path), after, limit).await?;
            let session = self.session.id();
            Ok(rows.into_iter().map(|(key, row)| (key::decode(&key), row.record(session))).collect())
        })
    }

    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move {
            path::validate(path)?;
            let mut state = self.shared.state.lock();
            if state.closing {
                return Err(Error::Closed);
            }
            Ok(state.watchers.watch(path))
        })
    }

    fn session_events(&self) -> SessionEvents {
        self.session.events()
    }
}
