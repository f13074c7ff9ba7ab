//! Rows with JSON in them: reading, creating, and changing by compare-and-set.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use plerion_metadata::{Error as StoreError, Expect, PutOptions, Record, SharedMetadataStore};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Times a change is decided anew when others change the same row, before it is given up.
const ATTEMPTS: usize = 64;

/// How long a write that stood in the way may take until readers see it.
const IN_FLIGHT: Duration = Duration::from_secs(5);

/// Names read at a time when a directory is listed.
pub(crate) const PAGE: usize = 1_000;

/// A stored value and the version it was read at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The value.
    pub value: T,
    /// The version to expect when the value is written back.
    pub version: u64,
}

/// One place of the metadata store with a name for errors.
pub(crate) struct Row<'a> {
    store: &'a SharedMetadataStore,
    path: String,
    what: String,
}

impl<'a> Row<'a> {
    pub(crate) fn new(store: &'a SharedMetadataStore, path: String, what: String) -> Self {
        Self { store, path, what }
    }

    pub(crate) async fn exists(&self) -> Result<bool> {
        self.store.exists(&self.path).await.map_err(|error| self.error(error))
    }

    pub(crate) async fn find<T: DeserializeOwned>(&self) -> Result<Option<Versioned<T>>> {
        let record = self.store.get(&self.path).await.map_err(|error| self.error(error))?;
        record.map(|record| self.parse(&record)).transpose()
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self) -> Result<Versioned<T>> {
        self.find().await?.ok_or_else(|| Error::not_found(&self.what))
    }

    /// Writes a row that is not there yet.
    pub(crate) async fn create<T: Serialize>(&self, value: &T) -> Result<()> {
        let bytes = self.encode(value)?;
        if self.put(bytes, Expect::Absent).await? {
            Ok(())
        } else {
            Err(Error::AlreadyExists { what: self.what.clone() })
        }
    }

    /// Replaces the row if it is still at `version`.
    pub(crate) async fn replace<T: Serialize>(&self, value: &T, version: u64) -> Result<()> {
        let bytes = self.encode(value)?;
        if self.put(bytes, Expect::Version(version)).await? {
            Ok(())
        } else {
            Err(Error::Conflict { what: self.what.clone() })
        }
    }

    /// Changes the row with `change`, which may run several times; its error ends the attempt. Returns what is stored.
    pub(crate) async fn update<T: Serialize + DeserializeOwned>(
        &self,
        mut change: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<T> {
        self.upsert(|current| {
            let mut value = current.ok_or_else(|| Error::not_found(&self.what))?;
            change(&mut value)?;
            Ok(value)
        })
        .await
    }

    /// Makes the row what `decide` makes of it, or of its absence.
    pub(crate) async fn upsert<T: Serialize + DeserializeOwned>(
        &self,
        mut decide: impl FnMut(Option<T>) -> Result<T>,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            let (current, expect) = match self.find::<T>().await? {
                Some(found) => (Some(found.value), Expect::Version(found.version)),
                None => (None, Expect::Absent),
            };
            let value = decide(current)?;
            if self.put(self.encode(&value)?, expect).await? {
                return Ok(value);
            }
        }
        Err(Error::Conflict { what: self.what.clone() })
    }

    pub(crate) async fn delete(&self) -> Result<()> {
        self.store.delete(&self.path, Expect::Any).await.map_err(|error| self.error(error))
    }

    /// Deletes the row and everything below it; succeeds if there is none.
    pub(crate) async fn delete_tree(&self) -> Result<()> {
        plerion_metadata::delete_tree(&**self.store, &self.path).await.map_err(|error| self.error(error))
    }

    pub(crate) async fn children(&self) -> Result<Vec<String>> {
        self.store.children(&self.path).await.map_err(|error| self.error(error))
    }

    pub(crate) async fn children_page(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        self.store.children_page(&self.path, after, limit).await.map_err(|error| self.error(error))
    }

    /// Whether the write happened; false if the row was not as expected, which can be read then. An unknown outcome is read back, and the write
    /// is tried again if the row is still as expected.
    async fn put(&self, bytes: Bytes, expect: Expect) -> Result<bool> {
        for _ in 0..ATTEMPTS {
            match self.store.put(&self.path, bytes.clone(), expect, PutOptions::PERSISTENT).await {
                Ok(_) => return Ok(true),
                Err(StoreError::BadVersion { .. } | StoreError::AlreadyExists { .. }) => {
                    self.changed_from(expect).await?;
                    return Ok(false);
                }
                Err(StoreError::UnknownOutcome { .. }) => {}
                Err(error) => return Err(self.error(error)),
            }
            let before = version(expect);
            let row = self.store.get(&self.path).await.map_err(|error| self.error(error))?;
            let now = row.as_ref().map(|row| row.stat.version);
            if now != before {
                let written = before.map_or(0, |version| version + 1);
                return Ok(now == Some(written) && row.is_some_and(|row| row.value == bytes));
            }
        }
        Err(Error::UnknownOutcome { what: self.what.clone() })
    }

    /// Waits until readers see that the row is no more as `expect`ed. A store refuses a write for the sake of one that is
    /// still on its way to the disk, and shows that one only when it has arrived.
    async fn changed_from(&self, expect: Expect) -> Result<()> {
        let before = version(expect);
        let changed = async {
            let mut changes = self.store.watch(&self.path).await?;
            loop {
                let row = self.store.get(&self.path).await?;
                if row.map(|row| row.stat.version) != before || changes.next().await.is_none() {
                    return Ok(());
                }
            }
        };
        // One that comes to nothing is not told of: whoever was refused for it may try again.
        let outcome = tokio::time::timeout(IN_FLIGHT, changed).await.unwrap_or(Ok(()));
        outcome.map_err(|error| self.error(error))
    }

    fn parse<T: DeserializeOwned>(&self, record: &Record) -> Result<Versioned<T>> {
        match serde_json::from_slice(&record.value) {
            Ok(value) => Ok(Versioned { value, version: record.stat.version }),
            Err(error) => Err(Error::Corrupt { what: self.what.clone(), why: error.to_string() }),
        }
    }

    fn encode<T: Serialize>(&self, value: &T) -> Result<Bytes> {
        serde_json::to_vec(value)
            .map(Bytes::from)
            .map_err(|error| Error::invalid(format!("{} cannot be written as JSON: {error}", self.what)))
    }

    fn error(&self, error: StoreError) -> Error {
        Error::of_store(error, &self.what)
    }
}

/// The version of a row that is as expected; `None` for no row.
fn version(expect: Expect) -> Option<u64> {
    match expect {
        Expect::Version(version) => Some(version),
        Expect::Any | Expect::Absent => None,
    }
}
