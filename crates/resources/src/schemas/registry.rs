//! Adding, reading and deleting the schemas of topics.
//!
//! A version is a row of its own below its topic, and adding one creates the row that follows the last: two who add at
//! once cannot both have the next version, and the one who loses decides again on what the other added.

use plerion_metadata::{Error as StoreError, Expect, PutOptions, SharedMetadataStore, delete_tree, path};

use super::codec;
use super::schema::{Schema, StoredSchema};
use crate::names::TopicName;
use crate::rows::PAGE;
use crate::{Error, Result};

pub(crate) const ROOT: &str = "/schemas";

/// Times an addition is decided anew when others add at the same time, before it is given up.
const ATTEMPTS: usize = 64;

/// What came of adding a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The topic has had this schema already.
    Existing(u64),
    /// It is a new version.
    New(u64),
}

impl Added {
    /// The version of the schema, either way.
    pub const fn version(self) -> u64 {
        match self {
            Self::Existing(version) | Self::New(version) => version,
        }
    }
}

/// The schemas of all topics.
#[derive(Clone)]
pub struct Schemas {
    store: SharedMetadataStore,
}

impl Schemas {
    pub(crate) fn new(store: SharedMetadataStore) -> Self {
        Self { store }
    }

    /// Adds a schema to the topic unless it has it already. Before a new version is made, `check` is given the versions
    /// that count, oldest first, and its error refuses the schema; it may run several times.
    pub async fn add(
        &self,
        topic: &TopicName,
        schema: &Schema,
        mut check: impl FnMut(&[StoredSchema]) -> Result<()>,
    ) -> Result<Added> {
        for _ in 0..ATTEMPTS {
            let stored = self.read_all(topic).await?;
            let next = stored.last().map_or(0, |last| last.version + 1);
            let current = counting(&stored);
            let is_same = |stored: &&StoredSchema| stored.schema.as_ref().is_some_and(|known| known.is_same(schema));
            if let Some(existing) = current.iter().find(is_same) {
                return Ok(Added::Existing(existing.version));
            }
            check(current)?;
            if self.put(topic, next, Some(schema)).await? {
                return Ok(Added::New(next));
            }
        }
        Err(Error::Conflict { what: what(topic) })
    }

    /// The version that was added last, unless the schemas were deleted after it.
    pub async fn latest(&self, topic: &TopicName) -> Result<Option<StoredSchema>> {
        // Versions are few, and names alone are cheap to read.
        let names = self.store.children(&directory(topic)).await.map_err(|error| of_store(error, topic))?;
        let Some(version) = names.last().and_then(|name| name.parse().ok()) else { return Ok(None) };
        self.get(topic, version).await
    }

    /// A version, also if it was deleted later: messages that were written with it need it still.
    pub async fn get(&self, topic: &TopicName, version: u64) -> Result<Option<StoredSchema>> {
        let record = self.store.get(&row(topic, version)).await.map_err(|error| of_store(error, topic))?;
        let Some(record) = record else { return Ok(None) };
        let schema = codec::decode(&record.value).map_err(|why| Error::Corrupt { what: what(topic), why })?;
        Ok(schema.map(|schema| StoredSchema { version, schema: Some(schema) }))
    }

    /// The versions that count, oldest first.
    pub async fn list(&self, topic: &TopicName) -> Result<Vec<StoredSchema>> {
        Ok(counting(&self.read_all(topic).await?).to_vec())
    }

    /// The version of this schema among those that count.
    pub async fn find(&self, topic: &TopicName, schema: &Schema) -> Result<Option<u64>> {
        let is_same = |stored: &StoredSchema| stored.schema.as_ref().is_some_and(|known| known.is_same(schema));
        Ok(self.list(topic).await?.into_iter().find(is_same).map(|stored| stored.version))
    }

    /// Deletes the topic's schemas but keeps their numbers taken, so that what is added later cannot be mistaken for
    /// them; the deletion is a version itself, which is returned. Nothing happens if there is no schema.
    pub async fn delete(&self, topic: &TopicName) -> Result<Option<u64>> {
        for _ in 0..ATTEMPTS {
            let stored = self.read_all(topic).await?;
            let Some(last) = stored.last().filter(|last| last.schema.is_some()) else { return Ok(None) };
            let next = last.version + 1;
            if self.put(topic, next, None).await? {
                return Ok(Some(next));
            }
        }
        Err(Error::Conflict { what: what(topic) })
    }

    /// Forgets all versions, as when the topic itself is deleted: the next one added is 0 again.
    pub async fn purge(&self, topic: &TopicName) -> Result<()> {
        delete_tree(&*self.store, &directory(topic)).await.map_err(|error| of_store(error, topic))
    }

    async fn read_all(&self, topic: &TopicName) -> Result<Vec<StoredSchema>> {
        let directory = directory(topic);
        let mut versions = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.scan(&directory, after.as_deref(), PAGE).await;
            let page = page.map_err(|error| of_store(error, topic))?;
            for (row, record) in &page {
                let corrupt = |why| Error::Corrupt { what: what(topic), why };
                let version = path::name(row).parse().map_err(|_| corrupt(format!("{row} is no version")))?;
                versions.push(StoredSchema { version, schema: codec::decode(&record.value).map_err(corrupt)? });
            }
            if page.len() < PAGE {
                return Ok(versions);
            }
            after = page.into_iter().last().map(|(row, _)| row);
        }
    }

    /// Whether this call made the version; false if it exists, or if that is not known: whoever asks reads again.
    async fn put(&self, topic: &TopicName, version: u64, schema: Option<&Schema>) -> Result<bool> {
        let value = codec::encode(schema).map_err(Error::invalid)?;
        match self.store.put(&row(topic, version), value, Expect::Absent, PutOptions::PERSISTENT).await {
            Ok(_) => Ok(true),
            Err(StoreError::AlreadyExists { .. } | StoreError::UnknownOutcome { .. }) => Ok(false),
            Err(error) => Err(of_store(error, topic)),
        }
    }
}

/// The versions after the last deletion.
fn counting(versions: &[StoredSchema]) -> &[StoredSchema] {
    let deleted = versions.iter().rposition(|version| version.schema.is_none());
    &versions[deleted.map_or(0, |at| at + 1)..]
}

fn directory(topic: &TopicName) -> String {
    format!("{ROOT}/{}", topic.schema_name())
}

/// The row of a version: its digits are so many that rows sort by number.
fn row(topic: &TopicName, version: u64) -> String {
    format!("{}/{version:020}", directory(topic))
}

fn what(topic: &TopicName) -> String {
    format!("schema of topic {topic}")
}

fn of_store(error: StoreError, topic: &TopicName) -> Error {
    Error::of_store(error, &what(topic))
}
