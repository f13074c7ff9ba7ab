//! Writes whose outcome is unknown, and what reading back makes of them.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::future::BoxFuture;
use plerion_metadata::{
    Error, Expect, MetadataStore, PutOptions, Record, Result, SessionEvents, SharedMetadataStore, Watch, Written,
    delete_settled, put_settled,
};

use crate::cluster::{Cluster, put, value};

/// A store that does not tell what came of the first write.
struct Unsure {
    store: SharedMetadataStore,
    does_it: bool,
    is_unsure: AtomicBool,
}

impl Unsure {
    async fn new(cluster: &Cluster, does_it: bool) -> Self {
        Self { store: cluster.store().await, does_it, is_unsure: AtomicBool::new(true) }
    }

    async fn unsure<T>(&self, path: &str, write: impl Future<Output = Result<T>>) -> Result<T> {
        if !self.is_unsure.swap(false, Ordering::SeqCst) {
            return write.await;
        }
        if self.does_it {
            let _ = write.await;
        }
        Err(Error::UnknownOutcome { path: path.to_owned(), why: "the answer was lost".to_owned() })
    }
}

impl MetadataStore for Unsure {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        self.store.get(path)
    }

    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(self.unsure(path, self.store.put(path, value, expect, options)))
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.unsure(path, self.store.delete(path, expect)))
    }

    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        self.store.children_page(path, after, limit)
    }

    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>> {
        self.store.scan(path, after, limit)
    }

    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        self.store.watch(path)
    }

    fn session_events(&self) -> SessionEvents {
        self.store.session_events()
    }
}

async fn settle(store: &Unsure, value: &'static str, expect: Expect, options: PutOptions) -> Result<Written> {
    put_settled(store, "/u", Bytes::from_static(value.as_bytes()), expect, options).await
}

pub(crate) async fn an_unknown_outcome_that_happened_is_found(cluster: &Cluster) {
    let other = cluster.store().await;
    let unsure = Unsure::new(cluster, true).await;
    let created = settle(&unsure, "1", Expect::Absent, PutOptions::EPHEMERAL).await.unwrap();
    assert!(created.stat.version == 0 && created.stat.created_by_self);
    other.delete("/u", Expect::Version(0)).await.unwrap();

    put(&other, "/u", "1").await;
    let unsure = Unsure::new(cluster, true).await;
    let changed = settle(&unsure, "2", Expect::Version(0), PutOptions::PERSISTENT).await.unwrap();
    assert_eq!((changed.stat.version, value(&other, "/u").await.as_deref()), (1, Some("2")));
}

pub(crate) async fn an_unknown_outcome_that_did_not_happen_is_made_up_for(cluster: &Cluster) {
    let other = cluster.store().await;
    let unsure = Unsure::new(cluster, false).await;
    settle(&unsure, "1", Expect::Absent, PutOptions::PERSISTENT).await.unwrap();
    let unsure = Unsure::new(cluster, false).await;
    settle(&unsure, "2", Expect::Version(0), PutOptions::PERSISTENT).await.unwrap();
    assert_eq!(value(&other, "/u").await.as_deref(), Some("2"));
    assert_eq!(other.get("/u").await.unwrap().unwrap().stat.version, 1);
}

pub(crate) async fn an_unknown_outcome_that_lost_is_a_conflict(cluster: &Cluster) {
    let other = cluster.store().await;
    put(&other, "/u", "theirs").await;
    let unsure = Unsure::new(cluster, true).await;
    let lost = settle(&unsure, "1", Expect::Absent, PutOptions::PERSISTENT).await.unwrap_err();
    assert_eq!(lost, Error::AlreadyExists { path: "/u".to_owned() });

    put(&other, "/u", "theirs again").await;
    let unsure = Unsure::new(cluster, true).await;
    let lost = settle(&unsure, "2", Expect::Version(0), PutOptions::PERSISTENT).await.unwrap_err();
    assert_eq!(lost, Error::BadVersion { path: "/u".to_owned(), expected: Expect::Version(0), found: Some(1) });

    // Others have built on whatever happened: nobody can tell.
    put(&other, "/u", "and again").await;
    let unsure = Unsure::new(cluster, true).await;
    let unknown = settle(&unsure, "2", Expect::Version(0), PutOptions::PERSISTENT).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownOutcome { .. }), "{unknown}");
}

pub(crate) async fn an_unknown_delete_is_settled(cluster: &Cluster) {
    let other = cluster.store().await;
    for does_it in [true, false] {
        put(&other, "/u", "x").await;
        let unsure = Unsure::new(cluster, does_it).await;
        delete_settled(&unsure, "/u", Expect::Version(0)).await.unwrap();
        assert!(!other.exists("/u").await.unwrap());
    }
    let unsure = Unsure::new(cluster, true).await;
    put(&other, "/u", "x").await;
    put(&other, "/u", "y").await;
    let lost = delete_settled(&unsure, "/u", Expect::Version(0)).await.unwrap_err();
    assert!(lost.is_conflict(), "{lost}");
}
