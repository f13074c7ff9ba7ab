//! Handles of a store on etcd.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::lease::Link;
use super::servers::{EtcdOptions, Servers};
use super::watch;
use crate::{Expect, MetadataStore, PutOptions, Record, Result, SessionEvents, Watch, Written, path};

/// A handle of a store that lies on etcd 3.4 or later: one lease, whose end is told before the servers can think it
/// over.
///
/// Needs a tokio runtime. While no server can be reached, calls wait for as long as a session lasts and fail with
/// [`Error::Unavailable`](crate::Error::Unavailable) then; a write that was on its way fails with
/// [`Error::UnknownOutcome`](crate::Error::UnknownOutcome). Watches end with the handle.
pub struct EtcdStore {
    link: Arc<Link>,
}

impl EtcdStore {
    /// Opens a session with the cluster at `addresses`: `http://host:port,http://host:port`, where the scheme may be
    /// left out. All keys of the store lie below that of the path `root`, which is `/` for a store of its own.
    ///
    /// Fails with [`Error::InvalidPath`](crate::Error::InvalidPath), or with
    /// [`Error::Unavailable`](crate::Error::Unavailable) if no server can be reached within the session's time.
    pub async fn connect(addresses: &str, root: &str, options: &EtcdOptions) -> Result<Self> {
        path::validate(root)?;
        Ok(Self { link: Link::open(Servers::new(addresses, options)?, root).await? })
    }

    /// Ends this handle's session as the servers do when they have not heard of it for too long: its ephemeral rows
    /// vanish, and the handle goes on with a new session.
    pub async fn expire_session(&self) -> Result<()> {
        self.link.end_session().await
    }
}

impl MetadataStore for EtcdStore {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        Box::pin(async move {
            path::validate(path)?;
            if path == "/" {
                return Ok(None);
            }
            self.link.row(path).await
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
