//! Opening a store by what its configuration says.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{EmbeddedOptions, EmbeddedStore, Error, MemoryStore, OpenError, SharedMetadataStore, StoreUrl};

/// How a store is opened, whichever it is.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The file of an embedded store whose URL names none.
    pub file: Option<PathBuf>,
    /// How an embedded store uses its machine.
    pub embedded: EmbeddedOptions,
    /// How long servers wait for a silent process before its session is over.
    pub session_timeout: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { file: None, embedded: EmbeddedOptions::default(), session_timeout: Duration::from_secs(6) }
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    /// The file of an embedded store cannot be used.
    #[error(transparent)]
    Embedded(#[from] OpenError),
    /// An embedded store has no file.
    #[error("`embedded:` names no file and this program has none for it: use embedded:FILE")]
    NoFile,
    /// The servers cannot be reached, or refuse.
    #[error("cannot open the metadata store {url}: {source}")]
    Servers {
        /// Which store.
        url: StoreUrl,
        /// What happened.
        source: Error,
    },
    /// This program was built without the engine.
    #[error("this program was built without the engine of {url}")]
    NotBuilt {
        /// Which store.
        url: StoreUrl,
    },
}

/// Opens the store that `url` names, with a session of its own.
///
/// An embedded one blocks for as long as [`EmbeddedStore::open`] does; one on servers needs a tokio runtime for as long as
/// it is used.
pub async fn open(url: &StoreUrl, options: &StoreOptions) -> Result<SharedMetadataStore, OpenStoreError> {
    match url {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new())),
        StoreUrl::Embedded(file) => {
            let file = file.as_ref().or(options.file.as_ref()).ok_or(OpenStoreError::NoFile)?;
            Ok(Arc::new(EmbeddedStore::open(file, &options.embedded)?))
        }
        StoreUrl::Zookeeper(address) => zookeeper(url, address, options).await,
        StoreUrl::Etcd { addresses, root } => etcd(url, addresses, root, options).await,
    }
}

#[cfg(feature = "zookeeper")]
async fn zookeeper(
    url: &StoreUrl,
    address: &str,
    options: &StoreOptions,
) -> Result<SharedMetadataStore, OpenStoreError> {
    let options = crate::ZookeeperOptions { session_timeout: options.session_timeout };
    match crate::ZookeeperStore::connect(address, &options).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(source) => Err(OpenStoreError::Servers { url: url.clone(), source }),
    }
}

#[cfg(not(feature = "zookeeper"))]
async fn zookeeper(url: &StoreUrl, _: &str, _: &StoreOptions) -> Result<SharedMetadataStore, OpenStoreError> {
    Err(OpenStoreError::NotBuilt { url: url.clone() })
}

#[cfg(feature = "etcd")]
async fn etcd(
    url: &StoreUrl,
    addresses: &str,
    root: &str,
    options: &StoreOptions,
) -> Result<SharedMetadataStore, OpenStoreError> {
    let options = crate::EtcdOptions { session_timeout: options.session_timeout };
    match crate::EtcdStore::connect(addresses, root, &options).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(source) => Err(OpenStoreError::Servers { url: url.clone(), source }),
    }
}

#[cfg(not(feature = "etcd"))]
async fn etcd(url: &StoreUrl, _: &str, _: &str, _: &StoreOptions) -> Result<SharedMetadataStore, OpenStoreError> {
    Err(OpenStoreError::NotBuilt { url: url.clone() })
}
