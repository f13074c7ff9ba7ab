//! Engines behind one face.

use std::sync::Arc;

use bytes::Bytes;
use plerion_metadata::{
    EmbeddedOptions, EmbeddedStore, Expect, MemoryStore, PutOptions, Result, SharedMetadataStore, Written,
};
use tempfile::TempDir;

/// One engine; its sessions stand for the processes of a cluster.
pub(crate) enum Cluster {
    Memory(MemoryStore),
    Embedded(EmbeddedStore, #[expect(dead_code, reason = "kept so that the directory stays")] TempDir),
}

/// A store handle whose session can be ended.
pub(crate) struct Session {
    pub(crate) store: SharedMetadataStore,
    expire: Box<dyn Fn()>,
}

impl Cluster {
    pub(crate) fn memory() -> Self {
        Self::Memory(MemoryStore::new())
    }

    pub(crate) fn embedded() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(&dir.path().join("metadata"), &EmbeddedOptions::default()).unwrap();
        Self::Embedded(store, dir)
    }

    pub(crate) fn open(&self) -> Session {
        match self {
            Self::Memory(store) => {
                let store = Arc::new(store.open_session());
                Session { store: Arc::clone(&store) as _, expire: Box::new(move || store.expire_session()) }
            }
            Self::Embedded(store, _) => {
                let store = Arc::new(store.open_session());
                Session { store: Arc::clone(&store) as _, expire: Box::new(move || store.expire_session()) }
            }
        }
    }

    pub(crate) fn store(&self) -> SharedMetadataStore {
        self.open().store
    }
}

impl Session {
    pub(crate) fn expire(&self) {
        (self.expire)();
    }
}

pub(crate) async fn put(store: &SharedMetadataStore, path: &str, value: &'static str) -> Written {
    put_if(store, path, value, Expect::Any).await.unwrap()
}

pub(crate) async fn put_if(
    store: &SharedMetadataStore,
    path: &str,
    value: &'static str,
    expect: Expect,
) -> Result<Written> {
    store.put(path, Bytes::from_static(value.as_bytes()), expect, PutOptions::PERSISTENT).await
}

/// The row's value, which is text.
pub(crate) async fn value(store: &SharedMetadataStore, path: &str) -> Option<String> {
    let record = store.get(path).await.unwrap()?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}
