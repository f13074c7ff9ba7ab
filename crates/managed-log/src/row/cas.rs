//! A row that only one owner writes, and notices when another does.

use std::cell::{Cell, Ref, RefCell};
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, stream};
use plerion_ledger::{LedgerId, LedgerStore};
use plerion_metadata::{Durability, Expect, MetadataStore, PutOptions};
use tokio::sync::Mutex;
use tokio::task::spawn_local;

use crate::Error;
use crate::codec::Malformed;

/// How many ledgers are deleted at a time.
const DELETIONS: usize = 16;

/// A value of a row.
pub(crate) trait Stored: Clone {
    fn encode(&self) -> Bytes;
    fn decode(bytes: Bytes) -> Result<Self, Malformed>;

    /// Ledgers that the row tells its next owner to delete.
    fn doomed(&mut self) -> &mut Vec<LedgerId>;
}

/// A row as its owner knows it. Every write is a compare-and-set on the version of the last one; writes take turns.
///
/// A write whose outcome is unknown, because the store said so or because the caller went away, is read back before
/// the next one. A conflict is [`Error::Fenced`], for good.
pub(crate) struct Cas<T> {
    metadata: Arc<dyn MetadataStore>,
    path: Arc<str>,
    current: RefCell<T>,
    version: Cell<u64>,
    durable: Cell<bool>,
    unresolved: RefCell<Option<(T, Bytes)>>,
    /// Doomed ledgers that are deleted; the next write of the row leaves them out.
    gone: RefCell<Vec<LedgerId>>,
    turn: Arc<Mutex<()>>,
}

impl<T: Stored> Cas<T> {
    /// Reads the row.
    pub(crate) async fn load(metadata: &Arc<dyn MetadataStore>, path: &Arc<str>) -> Result<Option<Self>, Error> {
        let Some(record) = metadata.get(path).await? else { return Ok(None) };
        let value = T::decode(record.value)
            .map_err(|why| Error::Corrupt { path: Arc::clone(path), why: Arc::from(format!("the row: {why}")) })?;
        // Whether an eventual write of an earlier owner has reached the disk is not known.
        Ok(Some(Self::new(metadata, path, value, record.stat.version, false)))
    }

    /// Makes the row; it must not be there.
    pub(crate) async fn create(
        metadata: &Arc<dyn MetadataStore>,
        path: &Arc<str>,
        value: T,
        durability: Durability,
    ) -> Result<Self, Error> {
        match metadata.put(path, value.encode(), Expect::Absent, options(durability)).await {
            Ok(written) => {
                let durable = durability == Durability::Synced;
                Ok(Self::new(metadata, path, value, written.stat.version, durable))
            }
            Err(error) if error.is_conflict() => Err(Error::Fenced { path: Arc::clone(path) }),
            Err(error) => Err(error.into()),
        }
    }

    fn new(metadata: &Arc<dyn MetadataStore>, path: &Arc<str>, value: T, version: u64, durable: bool) -> Self {
        Self {
            metadata: Arc::clone(metadata),
            path: Arc::clone(path),
            current: RefCell::new(value),
            version: Cell::new(version),
            durable: Cell::new(durable),
            unresolved: RefCell::new(None),
            gone: RefCell::default(),
            turn: Arc::default(),
        }
    }

    /// The row as last written.
    pub(crate) fn get(&self) -> Ref<'_, T> {
        self.current.borrow()
    }

    /// Writes the row as `change` leaves it. A write that has begun goes on if the caller goes away.
    pub(crate) async fn update(&self, durability: Durability, change: impl FnOnce(&mut T)) -> Result<(), Error> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        self.resolve().await?;
        let mut next = self.get().clone();
        next.doomed().retain(|id| !self.gone.borrow().contains(id));
        change(&mut next);
        let bytes = next.encode();
        self.unresolved.replace(Some((next, bytes.clone())));
        let (metadata, path) = (Arc::clone(&self.metadata), Arc::clone(&self.path));
        let expect = Expect::Version(self.version.get());
        let write = spawn_local(async move {
            let outcome = metadata.put(&path, bytes, expect, options(durability)).await;
            (outcome, turn)
        });
        let Ok((outcome, _turn)) = write.await else { return Err(self.unknown("the shard is shutting down")) };
        match outcome {
            Ok(written) => self.adopt(written.stat.version, durability),
            Err(plerion_metadata::Error::UnknownOutcome { why, .. }) => {
                if !self.resolve().await? {
                    return Err(self.unknown(&why));
                }
            }
            Err(error) => {
                self.unresolved.replace(None);
                return Err(if error.is_conflict() { self.fenced() } else { error.into() });
            }
        }
        Ok(())
    }

    /// The row tells by what is in it that it survives a crash.
    pub(crate) fn assume_durable(&self) {
        self.durable.set(true);
    }

    /// Makes sure that the row survives a crash.
    pub(crate) async fn make_durable(&self) -> Result<(), Error> {
        if self.durable.get() { Ok(()) } else { self.update(Durability::Synced, |_| ()).await }
    }

    /// Deletes the doomed ledgers; gives whether all are gone. What cannot be deleted now stays in the row, for the
    /// next attempt or owner.
    pub(crate) async fn delete_doomed(&self, store: &dyn LedgerStore) -> bool {
        let mut doomed = self.current.borrow_mut().doomed().clone();
        doomed.retain(|id| !self.gone.borrow().contains(id));
        let deletions = stream::iter(doomed).map(|id| async move {
            match store.delete(id).await {
                Ok(()) => {
                    self.gone.borrow_mut().push(id);
                    true
                }
                Err(error) => {
                    tracing::warn!(row = %self.path, ledger = %id, %error, "a ledger could not be deleted");
                    false
                }
            }
        });
        deletions.buffer_unordered(DELETIONS).all(std::future::ready).await
    }

    /// Deletes the row.
    pub(crate) async fn delete(&self) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        self.resolve().await?;
        match self.metadata.delete(&self.path, Expect::Version(self.version.get())).await {
            Err(error) if error.is_conflict() => Err(self.fenced()),
            Ok(()) | Err(plerion_metadata::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Finds out whether the write whose outcome is unknown, if there is one, happened.
    async fn resolve(&self) -> Result<bool, Error> {
        let Some(attempted) = self.unresolved.borrow().as_ref().map(|(_, bytes)| bytes.clone()) else {
            return Ok(true);
        };
        let record = self.metadata.get(&self.path).await?.ok_or_else(|| self.fenced())?;
        let next = self.version.get() + 1;
        if record.stat.version == next && record.value == attempted {
            self.adopt(next, Durability::Eventual);
            Ok(true)
        } else if record.stat.version == self.version.get() {
            self.unresolved.replace(None);
            Ok(false)
        } else {
            Err(self.fenced())
        }
    }

    /// The attempted value is the row's.
    fn adopt(&self, version: u64, durability: Durability) {
        if let Some((value, _)) = self.unresolved.take() {
            self.current.replace(value);
            let mut current = self.current.borrow_mut();
            self.gone.borrow_mut().retain(|id| current.doomed().contains(id));
        }
        self.version.set(version);
        self.durable.set(durability == Durability::Synced || self.durable.get());
    }

    fn unknown(&self, why: &str) -> Error {
        plerion_metadata::Error::UnknownOutcome { path: self.path.to_string(), why: why.to_owned() }.into()
    }

    fn fenced(&self) -> Error {
        Error::Fenced { path: Arc::clone(&self.path) }
    }
}

fn options(durability: Durability) -> PutOptions {
    PutOptions { durability, ..PutOptions::PERSISTENT }
}
