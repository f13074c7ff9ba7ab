//! A store whose next put fails, or happens without saying so.

use bytes::Bytes;
use futures::future::BoxFuture;
use plerion_metadata::{
    Error, Expect, MemoryStore, MetadataStore, PutOptions, Record, Result, SessionEvents, Watch, Written,
};
use std::sync::Mutex;

/// What comes of the next put.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Nothing happens, and the caller is told so.
    Unavailable,
    /// Nothing happens, and the caller does not know.
    LostRequest,
    /// It happens, and the caller does not know.
    LostResponse,
    /// It happens, somebody changes the row after it, and the caller does not know.
    Overwritten,
}

#[derive(Default)]
pub(crate) struct FlakyStore {
    inner: MemoryStore,
    next: Mutex<Option<Fault>>,
}

impl FlakyStore {
    pub(crate) fn fail_next(&self, fault: Fault) {
        *self.next.lock().unwrap() = Some(fault);
    }
}

impl MetadataStore for FlakyStore {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        self.inner.get(path)
    }

    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(async move {
            let fault = self.next.lock().unwrap().take();
            let unknown = Error::UnknownOutcome { path: path.to_owned(), why: "lost".to_owned() };
            match fault {
                None => self.inner.put(path, value, expect, options).await,
                Some(Fault::Unavailable) => Err(Error::Unavailable { why: "down".to_owned() }),
                Some(Fault::LostRequest) => Err(unknown),
                Some(Fault::LostResponse) => {
                    self.inner.put(path, value, expect, options).await?;
                    Err(unknown)
                }
                Some(Fault::Overwritten) => {
                    self.inner.put(path, value, expect, options).await?;
                    self.inner
                        .put(path, Bytes::from_static(br#"{"adminRoles":["thief"]}"#), Expect::Any, options)
                        .await?;
                    Err(unknown)
                }
            }
        })
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        self.inner.delete(path, expect)
    }

    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        self.inner.children_page(path, after, limit)
    }

    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>> {
        self.inner.scan(path, after, limit)
    }

    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        self.inner.watch(path)
    }

    fn session_events(&self) -> SessionEvents {
        self.inner.session_events()
    }
}
