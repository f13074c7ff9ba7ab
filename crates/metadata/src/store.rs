//! The contract every metadata engine keeps.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::{Error, Expect, PutOptions, Record, Result, SessionEvents, Watch, Written};

/// The largest value a row can hold, in bytes: what fits every engine's request limit.
pub const MAX_VALUE_BYTES: usize = 1_000_000;

/// A metadata store shared between components.
pub type SharedMetadataStore = Arc<dyn MetadataStore>;

/// Rows one call of the provided methods reads at a time.
const PAGE: usize = 1_000;

/// A tree of versioned rows; see the [crate documentation](crate).
///
/// Paths have the form `/a/b/c` (rules in [`crate::path`]); a path that breaks them is [`Error::InvalidPath`]. A row
/// needs no row above it: a path with rows below but none of its own counts as a child in listings and does not
/// exist otherwise. Not every engine takes rows below an ephemeral one: ZooKeeper refuses them with
/// [`Error::InvalidPath`].
///
/// A handle is one session: dropping the future of a write does not undo it, dropping the handle may leave its
/// ephemeral rows in place until the engine's session time is over. Reads see every write whose call has returned,
/// on any handle of the same engine, and a write that was refused for the sake of a row sees that row: whoever reads
/// after a lost compare-and-set finds the winner, and what is found does not vanish in a crash, unless it was written
/// with [`Durability::Eventual`](crate::Durability::Eventual).
pub trait MetadataStore: Send + Sync + 'static {
    /// The row at `path`, or `None`.
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>>;

    /// Creates or replaces the row at `path` if it is as `expect` says.
    ///
    /// Fails with [`Error::AlreadyExists`] for [`Expect::Absent`], [`Error::BadVersion`] for [`Expect::Version`], also
    /// if there is no row at all, and [`Error::ValueTooLarge`] above [`MAX_VALUE_BYTES`].
    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>>;

    /// Deletes the row at `path` if it is as `expect` says; durable when the call returns.
    ///
    /// Fails with [`Error::NotFound`] if there is no row, whatever is expected, with [`Error::BadVersion`] or
    /// [`Error::AlreadyExists`] if the row is not as expected, and with [`Error::NotEmpty`] if there are rows below it.
    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>>;

    /// Up to `limit` names one level below `path`, sorted by bytes, beginning after the name `after`.
    ///
    /// The cost grows with `limit` only: it is the way to list a directory of any size.
    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Up to `limit` rows at any depth below `path` (without its own), parents before what is below them, beginning
    /// after the path `after`.
    ///
    /// `after` need not exist. Fewer rows than `limit` mean that there are no more.
    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>>;

    /// Every later change at or below `path`.
    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>>;

    /// The later events of this handle's session.
    fn session_events(&self) -> SessionEvents;

    /// Whether there is a row at `path`.
    fn exists<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok(self.get(path).await?.is_some()) })
    }

    /// All names one level below `path`, sorted by bytes. For directories that may be large, use
    /// [`MetadataStore::children_page`].
    fn children<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let mut names = self.children_page(path, None, PAGE).await?;
            let mut read = names.len();
            while read == PAGE {
                let page = self.children_page(path, names.last().map(String::as_str), PAGE).await?;
                read = page.len();
                names.extend(page);
            }
            Ok(names)
        })
    }
}

/// Deletes every row at and below `path`, deepest first. Each delete is on its own; rows made meanwhile may stay.
///
/// Fails with the first error other than a row that vanished by itself.
pub async fn delete_tree(store: &dyn MetadataStore, path: &str) -> Result<()> {
    loop {
        let page = store.scan(path, None, PAGE).await?;
        let mut blocked = None;
        let mut deleted = 0;
        for (row, _) in page.iter().rev() {
            match store.delete(row, Expect::Any).await {
                Ok(()) | Err(Error::NotFound { .. }) => deleted += 1,
                Err(error @ Error::NotEmpty { .. }) => blocked = Some(error),
                Err(error) => return Err(error),
            }
        }
        // A row whose descendants are on a later page goes in a later round.
        match blocked {
            Some(error) if deleted == 0 => return Err(error),
            None if page.len() < PAGE => break,
            _ => {}
        }
    }
    match store.delete(path, Expect::Any).await {
        Err(Error::NotFound { .. }) => Ok(()),
        outcome => outcome,
    }
}
