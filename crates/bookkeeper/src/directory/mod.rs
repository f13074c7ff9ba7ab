//! Where ledgers and bookies are written down: BookKeeper's own tree, in a metadata store.

mod bookies;
mod ids;
mod path;

use std::sync::Arc;

use plerion_ledger::LedgerId;
use plerion_metadata::{self as metadata, Expect, PutOptions, SharedMetadataStore};

use crate::ledger_metadata::{LedgerMetadata, MetadataError, Versioned};

pub use bookies::{Bookies, Registered};
pub use path::{ledger_of, ledger_path};

/// The layout that the original and Pulsar use by default.
const LAYOUT: &str = "2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1";
const KNOWN_LAYOUTS: [&str; 2] = [
    "org.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory",
    // What Pulsar's own driver writes; the same paths.
    "org.apache.pulsar.metadata.bookkeeper.PulsarLedgerManagerFactory",
];

/// A question about a ledger's metadata, asked by what decides.
#[derive(Clone, Debug)]
pub enum Ask {
    /// What is it?
    Read,
    /// Make it this, if its version is still that.
    Write {
        /// The version that was read.
        version: u64,
        /// What it shall be.
        metadata: Arc<LedgerMetadata>,
    },
}

/// The answer to an [`Ask`].
#[derive(Clone, Debug)]
pub enum Told {
    /// To a read: this is it.
    Found(Arc<Versioned>),
    /// To a read: there is no such ledger.
    Absent,
    /// To a write: done, it has this version now.
    Written(u64),
    /// To a write: somebody changed it before; nothing was written.
    Conflict,
    /// To a write: it may or may not have happened.
    Unknown,
    /// To either: not now, and nothing was written.
    Unavailable(Arc<str>),
    /// To a read: it is there, but cannot be understood.
    Corrupt(Arc<str>),
}

/// What went wrong outside of the life of a ledger.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The metadata store failed.
    #[error(transparent)]
    Store(#[from] metadata::Error),
    /// The cluster keeps its ledgers in another way.
    #[error("the ledgers at {path} are laid out as {found:?}, which is not known")]
    Layout {
        /// Where the layout is written down.
        path: String,
        /// What is written there.
        found: String,
    },
    /// A ledger's metadata cannot be understood.
    #[error("the metadata of ledger {ledger} at {path}: {why}")]
    Metadata {
        /// The ledger.
        ledger: LedgerId,
        /// Where it is.
        path: String,
        /// What is wrong with it.
        why: MetadataError,
    },
    /// A sequential row has a name without a number.
    #[error("the metadata store gave the sequential row the name {0}, which holds no number")]
    Sequence(String),
    /// Every number is taken.
    #[error("there is no ledger number left")]
    Exhausted,
}

/// The ledgers and bookies of a cluster. Clones share the store.
#[derive(Clone)]
pub struct Directory {
    store: SharedMetadataStore,
    root: Arc<str>,
}

impl Directory {
    /// The cluster below `root`, by default `/ledgers`.
    pub fn new(store: SharedMetadataStore, root: &str) -> Self {
        Self { store, root: Arc::from(root.trim_end_matches('/')) }
    }

    fn at(&self, below: &str) -> String {
        format!("{}/{below}", self.root)
    }

    /// Makes an empty cluster unless there is one; `instance` is its identity, a UUID.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn initialize(&self, instance: &str) -> Result<(), DirectoryError> {
        for (name, value) in
            [("LAYOUT", LAYOUT), ("INSTANCEID", instance), ("available/readonly", ""), ("cookies", ""), ("idgen", "")]
        {
            let value = bytes::Bytes::copy_from_slice(value.as_bytes());
            match self.store.put(&self.at(name), value, Expect::Absent, PutOptions::PERSISTENT).await {
                Ok(_) | Err(metadata::Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Checks that ledgers are kept where this client looks. A cluster that does not say is one of Pulsar's driver,
    /// which has no other way.
    ///
    /// # Errors
    /// [`DirectoryError::Layout`] for any other layout.
    pub async fn check_layout(&self) -> Result<(), DirectoryError> {
        let path = self.at("LAYOUT");
        let Some(record) = self.store.get(&path).await? else { return Ok(()) };
        let found = String::from_utf8_lossy(&record.value).into_owned();
        let class = found.lines().nth(1).and_then(|line| line.rsplit_once(':')).map(|(class, _)| class);
        match class {
            Some(class) if KNOWN_LAYOUTS.contains(&class) => Ok(()),
            _ => Err(DirectoryError::Layout { path, found }),
        }
    }

    /// Writes a new ledger down under a number of its own. An answer that got lost
    /// is looked for by the metadata's token, so that there is one ledger in the end.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn create(&self, metadata: LedgerMetadata) -> Result<(LedgerId, Versioned), DirectoryError> {
        loop {
            let ledger = self.next_id().await?;
            let path = self.at(&ledger_path(ledger));
            let put = self.store.put(&path, metadata.encode(), Expect::Absent, PutOptions::PERSISTENT).await;
            match put {
                Ok(written) => return Ok((ledger, Versioned { metadata, version: written.stat.version })),
                Err(metadata::Error::AlreadyExists { .. } | metadata::Error::UnknownOutcome { .. }) => {
                    // Either is the echo of this very write, or the number belongs to somebody else: take another.
                    let found = self.get(ledger).await?;
                    if let Some(found) = found.filter(|found| is_own(&found.metadata, &metadata)) {
                        return Ok((ledger, found));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A ledger's metadata; `None` if there is no such ledger.
    ///
    /// # Errors
    /// What the metadata store says, and [`DirectoryError::Metadata`].
    pub async fn get(&self, ledger: LedgerId) -> Result<Option<Versioned>, DirectoryError> {
        let path = self.at(&ledger_path(ledger));
        let Some(record) = self.store.get(&path).await? else { return Ok(None) };
        match LedgerMetadata::decode(&record.value) {
            Ok(metadata) => Ok(Some(Versioned { metadata, version: record.stat.version })),
            Err(why) => Err(DirectoryError::Metadata { ledger, path, why }),
        }
    }

    /// Does what was asked.
    pub async fn ask(&self, ledger: LedgerId, ask: Ask) -> Told {
        match ask {
            Ask::Read => match self.get(ledger).await {
                Ok(Some(found)) => Told::Found(Arc::new(found)),
                Ok(None) => Told::Absent,
                Err(error @ DirectoryError::Metadata { .. }) => Told::Corrupt(Arc::from(error.to_string())),
                Err(error) => Told::Unavailable(Arc::from(error.to_string())),
            },
            Ask::Write { version, metadata } => {
                let path = self.at(&ledger_path(ledger));
                let expect = Expect::Version(version);
                match self.store.put(&path, metadata.encode(), expect, PutOptions::PERSISTENT).await {
                    Ok(written) => Told::Written(written.stat.version),
                    Err(metadata::Error::UnknownOutcome { .. }) => Told::Unknown,
                    Err(error) if error.is_conflict() => Told::Conflict,
                    Err(error) => Told::Unavailable(Arc::from(error.to_string())),
                }
            }
        }
    }

    /// Deletes a ledger; one that is not there is deleted already. What bookies hold of it, they drop in time.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn delete(&self, ledger: LedgerId) -> Result<(), DirectoryError> {
        let path = self.at(&ledger_path(ledger));
        loop {
            match self.store.delete(&path, Expect::Any).await {
                Ok(()) | Err(metadata::Error::NotFound { .. }) => break,
                // Numbers are given once, so a second delete can only hit what the first was meant for.
                Err(metadata::Error::UnknownOutcome { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut above = path.as_str();
        while let Some(parent) = metadata::path::parent(above).filter(|parent| parent.len() > self.root.len()) {
            // Levels that are rows of their own go when they are empty; where they are not rows there is nothing to do.
            if self.store.delete(parent, Expect::Any).await.is_err() {
                break;
            }
            above = parent;
        }
        Ok(())
    }

    /// All ledgers, in ascending order.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn list(&self) -> Result<Vec<LedgerId>, DirectoryError> {
        let mut found = Vec::new();
        let mut below: Vec<String> = self.store.children(&self.root).await?;
        below.retain(|name| path::is_top_level(name));
        below.reverse();
        while let Some(level) = below.pop() {
            match ledger_of(&level) {
                Some(ledger) => found.push(ledger),
                None => {
                    let children = self.store.children(&self.at(&level)).await?;
                    below.extend(children.into_iter().rev().map(|name| format!("{level}/{name}")));
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// Whether what is stored is what this creator wrote.
fn is_own(stored: &LedgerMetadata, written: &LedgerMetadata) -> bool {
    written.token.is_some() && stored.token == written.token
}
