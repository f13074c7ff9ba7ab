//! JSON in the metadata store that no typed resource stands for.

use plerion_metadata::{Expect, PutOptions, SharedMetadataStore};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;

/// Times a change is decided anew when others change the same row, before it is given up.
const ATTEMPTS: usize = 64;

/// A row of JSON.
pub(crate) struct Document<'a> {
    store: &'a SharedMetadataStore,
    path: String,
}

impl<'a> Document<'a> {
    pub(crate) fn new(store: &'a SharedMetadataStore, path: impl Into<String>) -> Self {
        Self { store, path: path.into() }
    }

    /// What is stored.
    pub(crate) async fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, Refusal> {
        let Some(row) = self.store.get(&self.path).await? else { return Ok(None) };
        self.parse(&row.value).map(Some)
    }

    /// Changes what is stored, beginning with the default where nothing is; `change` may run several times.
    pub(crate) async fn update<T>(&self, mut change: impl FnMut(&mut T)) -> Result<(), Refusal>
    where
        T: Default + Serialize + DeserializeOwned,
    {
        for _ in 0..ATTEMPTS {
            let (mut value, expect) = match self.store.get(&self.path).await? {
                Some(row) => (self.parse(&row.value)?, Expect::Version(row.stat.version)),
                None => (T::default(), Expect::Absent),
            };
            change(&mut value);
            let bytes = serde_json::to_vec(&value)
                .map_err(|error| Refusal::malformed(format!("{} cannot be written as JSON: {error}", self.path)))?;
            match self.store.put(&self.path, bytes.into(), expect, PutOptions::PERSISTENT).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refusal::conflict(format!("{} is being changed by others", self.path)))
    }

    /// Deletes the row, if it is there.
    pub(crate) async fn delete(&self) -> Result<(), Refusal> {
        match self.store.delete(&self.path, Expect::Any).await {
            Ok(()) | Err(plerion_metadata::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn parse<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Refusal> {
        serde_json::from_slice(bytes).map_err(|error| {
            let reason = format!("{} cannot be read: {error}", self.path);
            Refusal::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, reason)
        })
    }
}
