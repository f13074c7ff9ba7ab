//! Engines behind one face.

pub(crate) mod proxy;
pub(crate) mod server;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use plerion_metadata::{
    EmbeddedOptions, EmbeddedStore, EtcdOptions, EtcdStore, Expect, MemoryStore, PutOptions, Result,
    SharedMetadataStore, Written, ZookeeperOptions, ZookeeperStore,
};
use tempfile::TempDir;

use self::server::Server;

/// One engine; its sessions stand for the processes of a cluster.
pub(crate) enum Cluster {
    Memory(MemoryStore),
    Embedded(EmbeddedStore, #[expect(dead_code, reason = "kept so that the directory stays")] TempDir),
    /// Servers and a part of their tree.
    Zookeeper(String),
    /// Servers, and a path in them.
    Etcd(String, String),
}

/// How long the servers wait for a silent session in tests.
pub(crate) const SESSION: Duration = Duration::from_secs(4);

/// A store handle whose session can be ended.
pub(crate) struct Session {
    pub(crate) store: SharedMetadataStore,
    expire: Box<dyn Fn() -> BoxFuture<'static, ()>>,
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

    /// A part of its own of one server that all tests share.
    pub(crate) async fn zookeeper() -> Self {
        static SHARED: OnceLock<Mutex<Server>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| Mutex::new(Server::zookeeper()));
        Self::zookeeper_at(shared.lock().unwrap().port)
    }

    /// A part of its own of the server at `port`.
    pub(crate) fn zookeeper_at(port: u16) -> Self {
        Self::Zookeeper(format!("127.0.0.1:{port}/space/{}", space()))
    }

    /// A part of its own of one server that all tests share.
    pub(crate) async fn etcd() -> Self {
        static SHARED: OnceLock<Mutex<Server>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| Mutex::new(Server::etcd()));
        Self::etcd_at(shared.lock().unwrap().port)
    }

    /// A part of its own of the server at `port`.
    pub(crate) fn etcd_at(port: u16) -> Self {
        Self::Etcd(format!("127.0.0.1:{port}"), format!("/space/{}", space()))
    }

    /// The same store by way of another port.
    pub(crate) fn in_space_of(other: &Self, port: u16) -> Self {
        let moved = |address: &str| {
            let space = address.split_once("/space").unwrap().1;
            format!("127.0.0.1:{port}/space{space}")
        };
        match other {
            Self::Zookeeper(address) => Self::Zookeeper(moved(address)),
            Self::Etcd(_, root) => Self::Etcd(format!("127.0.0.1:{port}"), root.clone()),
            Self::Memory(_) | Self::Embedded(..) => unreachable!("it has no port"),
        }
    }

    /// Whether a change is known everywhere when the call that made it returns.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Memory(_) | Self::Embedded(..))
    }

    pub(crate) async fn open(&self) -> Session {
        match self {
            Self::Memory(store) => Session::new(store.open_session(), async |store| store.expire_session()),
            Self::Embedded(store, _) => Session::new(store.open_session(), async |store| store.expire_session()),
            Self::Zookeeper(address) => {
                let options = ZookeeperOptions { session_timeout: SESSION };
                let connect = || ZookeeperStore::connect(address, &options);
                Session::new(patiently(connect).await, async |store| store.expire_session())
            }
            Self::Etcd(addresses, root) => {
                let options = EtcdOptions { session_timeout: SESSION };
                let connect = || EtcdStore::connect(addresses, root, &options);
                Session::new(patiently(connect).await, async |store| store.expire_session().await.unwrap())
            }
        }
    }

    pub(crate) async fn store(&self) -> SharedMetadataStore {
        self.open().await.store
    }

    pub(crate) async fn stores(&self, count: usize) -> Vec<SharedMetadataStore> {
        let mut stores = Vec::new();
        for _ in 0..count {
            stores.push(self.store().await);
        }
        stores
    }
}

impl Session {
    fn new<S, F>(store: S, expire: impl Fn(Arc<S>) -> F + 'static) -> Self
    where
        S: plerion_metadata::MetadataStore,
        F: Future<Output = ()> + Send + 'static,
    {
        let store = Arc::new(store);
        let expired = Arc::downgrade(&store);
        Self {
            store,
            expire: Box::new(move || match expired.upgrade() {
                Some(store) => Box::pin(expire(store)),
                None => Box::pin(async {}),
            }),
        }
    }

    /// Ends the session as its server does that has not heard of it for too long.
    pub(crate) fn expire(&self) -> BoxFuture<'static, ()> {
        (self.expire)()
    }
}

/// Connects, also to servers under such a load that a session's time is not enough.
async fn patiently<S>(connect: impl AsyncFn() -> Result<S>) -> S {
    soon(async {
        loop {
            match connect().await {
                Ok(store) => break store,
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    })
    .await
}

/// A name that no other test uses.
fn space() -> String {
    static SPACES: AtomicU64 = AtomicU64::new(0);
    SPACES.fetch_add(1, Ordering::Relaxed).to_string()
}

/// What a test waits for.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.unwrap()
}

/// Waits until there is no row at `path`.
pub(crate) async fn until_gone(store: &SharedMetadataStore, path: &str) {
    let mut watch = store.watch(path).await.unwrap();
    while store.exists(path).await.unwrap() {
        soon(watch.next()).await.unwrap();
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
