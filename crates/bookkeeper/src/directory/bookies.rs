//! Which bookies there are.

use std::collections::BTreeMap;

use plerion_metadata::Watch;

use super::{Directory, DirectoryError};
use crate::bookie::{Address, BookieId, registered_address};

/// A bookie as it registered itself. That it is registered is a hint: it may be dead, and one that is not may serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Where it listens; `None` if its registration does not say.
    pub address: Option<Address>,
    /// Whether it takes writes.
    pub writable: bool,
}

/// The registered bookies.
pub type Bookies = BTreeMap<BookieId, Registered>;

impl Directory {
    /// The bookies that are registered now.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn bookies(&self) -> Result<Bookies, DirectoryError> {
        let mut found = Bookies::new();
        for (below, writable) in [("available/readonly", false), ("available", true)] {
            let parent = self.at(below);
            for name in self.store.children(&parent).await? {
                let Some(id) = BookieId::new(&name).filter(|id| id.as_str() != "readonly") else { continue };
                let path = format!("{parent}/{name}");
                let Some(record) = self.store.get(&path).await? else { continue };
                let address = registered_address(&id, &record.value);
                found.insert(id, Registered { address, writable });
            }
        }
        Ok(found)
    }

    /// Tells when to ask for the [`bookies`](Self::bookies) again.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn watch_bookies(&self) -> Result<Watch, DirectoryError> {
        Ok(self.store.watch(&self.at("available")).await?)
    }

    /// The names of all bookies that ever were part of the cluster.
    ///
    /// # Errors
    /// What the metadata store says.
    pub async fn known_bookies(&self) -> Result<Vec<String>, DirectoryError> {
        Ok(self.store.children(&self.at("cookies")).await?)
    }
}
