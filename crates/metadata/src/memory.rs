//! The engine without a disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::row::{self, NO_SESSION, Row, SessionId};
use crate::sessions::Session;
use crate::watchers::Watchers;
use crate::{
    Expect, MetadataStore, NotificationKind, PutOptions, Record, Result, SessionEvents, Watch, Written, key, path,
};

/// A store that lives in memory and ends with its last handle. For tests and simulation: every write counts as
/// durable, and every future is ready at once.
pub struct MemoryStore {
    tree: Arc<Mutex<Tree>>,
    session: Session,
}

#[derive(Default)]
struct Tree {
    rows: BTreeMap<String, Row>,
    revision: u64,
    sessions: SessionId,
    watchers: Watchers,
}

impl MemoryStore {
    /// An empty store with its first handle.
    pub fn new() -> Self {
        Self::attach(Arc::default())
    }

    /// Another handle of the same store, with a session of its own.
    pub fn open_session(&self) -> Self {
        Self::attach(Arc::clone(&self.tree))
    }

    /// Ends this handle's session as a real engine does when it has not heard of a client for too long: its
    /// ephemeral rows vanish, and the handle goes on with a new session.
    pub fn expire_session(&self) {
        let mut tree = self.tree.lock();
        let expired = self.session.id();
        tree.drop_session(expired);
        tree.sessions += 1;
        self.session.replace(tree.sessions);
    }

    fn attach(tree: Arc<Mutex<Tree>>) -> Self {
        let id = {
            let mut tree = tree.lock();
            tree.sessions += 1;
            tree.sessions
        };
        Self { tree, session: Session::new(id) }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.tree.lock().drop_session(self.session.id());
    }
}

impl Tree {
    fn get(&self, path: &str, reader: SessionId) -> Result<Option<Record>> {
        path::validate(path)?;
        Ok(self.rows.get(&key::encode(path)).map(|row| row.record(reader)))
    }

    fn put(
        &mut self,
        path: &str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
        caller: SessionId,
    ) -> Result<Written> {
        path::validate_row(path)?;
        let revision = self.revision + 1;
        let path = if options.sequential { row::numbered(path, revision) } else { path.to_owned() };
        let key = key::encode(&path);
        let owner = if options.ephemeral { caller } else { NO_SESSION };
        let current = self.rows.get(&key);
        let kind = if current.is_some() { NotificationKind::Modified } else { NotificationKind::Created };
        let row = row::put(&path, current, value, expect, owner, revision)?;
        let stat = row.stat(caller);
        self.revision = revision;
        self.rows.insert(key, row);
        self.watchers.publish(&path, kind, revision);
        Ok(Written { path, stat })
    }

    fn delete(&mut self, path: &str, expect: Expect) -> Result<()> {
        path::validate_row(path)?;
        let key = key::encode(path);
        let has_rows_below = self.below(&key, key::below_start(&key)).next().is_some();
        row::delete(path, self.rows.get(&key), expect, has_rows_below)?;
        self.remove(&key);
        Ok(())
    }

    fn remove(&mut self, key: &str) {
        self.rows.remove(key);
        self.revision += 1;
        self.watchers.publish(&key::decode(key), NotificationKind::Deleted, self.revision);
    }

    fn drop_session(&mut self, session: SessionId) {
        let owned: Vec<String> =
            self.rows.iter().filter(|(_, row)| row.session == session).map(|(key, _)| key.clone()).collect();
        for key in owned {
            self.remove(&key);
        }
    }

    fn below(&self, key: &str, from: String) -> impl Iterator<Item = (&String, &Row)> {
        let end = key::below_end(key).max(from.clone());
        self.rows.range(from..end)
    }

    fn children_page(&self, path: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        path::validate(path)?;
        let key = key::encode(path);
        key::children_page(&key, after, limit, |from| Ok(self.below(&key, from).map(|(key, _)| Ok(key.clone()))))
    }

    fn scan(&self, path: &str, after: Option<&str>, limit: usize, reader: SessionId) -> Result<Vec<(String, Record)>> {
        path::validate(path)?;
        let key = key::encode(path);
        let rows = self.below(&key, key::scan_start(&key, after)).take(limit);
        Ok(rows.map(|(key, row)| (key::decode(key), row.record(reader))).collect())
    }
}

impl MetadataStore for MemoryStore {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        Box::pin(async move { self.tree.lock().get(path, self.session.id()) })
    }

    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(async move { self.tree.lock().put(path, value, expect, options, self.session.id()) })
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.tree.lock().delete(path, expect) })
    }

    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move { self.tree.lock().children_page(path, after, limit) })
    }

    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>> {
        Box::pin(async move { self.tree.lock().scan(path, after, limit, self.session.id()) })
    }

    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move { path::validate(path).map(|()| self.tree.lock().watchers.watch(path)) })
    }

    fn session_events(&self) -> SessionEvents {
        self.session.events()
    }
}
