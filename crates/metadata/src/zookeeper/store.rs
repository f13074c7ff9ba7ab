//! Handles of a store on ZooKeeper.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::connect::{Servers, ZookeeperOptions};
use super::link::Link;
use super::watch;
use crate::{Expect, MetadataStore, PutOptions, Record, Result, SessionEvents, Watch, Written, path};

/// A handle of a store that lies on ZooKeeper 3.6 or later: one session, whose end is told before the servers can think
/// it over.
///
/// Needs a tokio runtime. While the servers cannot be reached, calls wait for as long as a session lasts and fail with
/// [`Error::Unavailable`](crate::Error::Unavailable) then; a write that was on its way fails with
/// [`Error::UnknownOutcome`](crate::Error::UnknownOutcome). Watches end with the
/// handle.
pub struct ZookeeperStore {
    link: Arc<Link>,
}

impl ZookeeperStore {
    /// Opens a session with the servers at `address`: `host:port,host:port`, and a path after them if the store is not
    /// to lie at the root of their tree.
    ///
    /// Fails with [`Error::Unavailable`](crate::Error::Unavailable) if none can be reached within the session's time.
    pub async fn connect(address: &str, options: &ZookeeperOptions) -> Result<Self> {
        Ok(Self { link: Link::open(Servers::new(address, options.clone())).await? })
    }

    /// Ends this handle's session, as the servers do when they have not heard of it for too long: its ephemeral rows
    /// vanish, and the handle goes on with a new session.
    pub fn expire_session(&self) {
        self.link.end_session();
    }
}

impl MetadataStore for ZookeeperStore {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        Box::pin(async move {
            path::validate(path)?;
            if path == "/" {
                return Ok(None);
            }
            let row = self.link.row(path).await?;
            Ok(row.map(|row| row.record(self.link.session.id())))
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
            path::validate_row(path)?;
            self.link.put(path, value, expect, options).await
        })
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            path::validate_row(path)?;
            self.link.delete(path, expect).await
        })
    }

    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            path::validate(path)?;
            self.link.children_page(path, after, limit).await
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
            self.link.scan(path, after, limit).await
        })
    }

    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move {
            path::validate(path)?;
            watch::watch(&self.link, path).await
        })
    }

    fn session_events(&self) -> SessionEvents {
        self.link.session.events()
    }
}
