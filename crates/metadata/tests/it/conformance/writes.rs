//! Compare-and-set, versions and revisions.

use bytes::Bytes;
use futures::future::join_all;
use plerion_metadata::{Error, Expect, MAX_VALUE_BYTES, PutOptions};

use crate::cluster::{Cluster, put, put_if, value};

pub(crate) async fn versions_count_changes(cluster: &Cluster) {
    let store = cluster.store().await;
    assert_eq!(store.get("/a").await.unwrap(), None);
    let first = put(&store, "/a", "1").await;
    assert_eq!((first.path.as_str(), first.stat.version), ("/a", 0));
    assert_eq!(first.stat.created, first.stat.modified);
    let second = put(&store, "/a", "2").await;
    assert_eq!((second.stat.version, second.stat.created), (1, first.stat.created));
    let record = store.get("/a").await.unwrap().unwrap();
    assert_eq!((&*record.value, record.stat), (&b"2"[..], second.stat));

    store.delete("/a", Expect::Any).await.unwrap();
    assert!(!store.exists("/a").await.unwrap());
    let again = put(&store, "/a", "3").await;
    assert_eq!(again.stat.version, 0);
    assert!(again.stat.created > second.stat.modified);
}

pub(crate) async fn a_write_happens_only_as_expected(cluster: &Cluster) {
    let store = cluster.store().await;
    let path = "/a".to_owned();
    assert_eq!(
        put_if(&store, "/a", "x", Expect::Version(0)).await.unwrap_err(),
        Error::BadVersion { path: path.clone(), expected: Expect::Version(0), found: None }
    );
    put_if(&store, "/a", "1", Expect::Absent).await.unwrap();
    let exists = put_if(&store, "/a", "x", Expect::Absent).await.unwrap_err();
    assert_eq!(exists, Error::AlreadyExists { path: path.clone() });
    assert!(exists.is_conflict() && !exists.is_retryable());
    put_if(&store, "/a", "2", Expect::Version(0)).await.unwrap();
    assert_eq!(
        put_if(&store, "/a", "x", Expect::Version(0)).await.unwrap_err(),
        Error::BadVersion { path, expected: Expect::Version(0), found: Some(1) }
    );
    assert_eq!(value(&store, "/a").await.as_deref(), Some("2"));
}

pub(crate) async fn revisions_never_repeat(cluster: &Cluster) {
    let (one, two) = (cluster.store().await, cluster.store().await);
    let mut last = 0;
    for round in 0..10 {
        let store = if round % 2 == 0 { &one } else { &two };
        for path in ["/a", "/b/c"] {
            let stat = put(store, path, "x").await.stat;
            assert!(stat.modified > last, "{stat:?} after {last}");
            last = stat.modified;
        }
    }
}

pub(crate) async fn deletes_follow_their_rules(cluster: &Cluster) {
    let store = cluster.store().await;
    let missing = Error::NotFound { path: "/a".to_owned() };
    for expect in [Expect::Any, Expect::Version(0), Expect::Absent] {
        assert_eq!(store.delete("/a", expect).await.unwrap_err(), missing);
    }
    put(&store, "/a", "x").await;
    assert_eq!(
        store.delete("/a", Expect::Version(3)).await.unwrap_err(),
        Error::BadVersion { path: "/a".to_owned(), expected: Expect::Version(3), found: Some(0) }
    );
    put(&store, "/a/b", "x").await;
    put(&store, "/ab", "a sibling is not a child").await;
    assert_eq!(store.delete("/a", Expect::Any).await.unwrap_err(), Error::NotEmpty { path: "/a".to_owned() });
    store.delete("/a/b", Expect::Version(0)).await.unwrap();
    store.delete("/a", Expect::Version(0)).await.unwrap();
    assert_eq!(store.children("/").await.unwrap(), ["ab"]);
}

pub(crate) async fn sequential_paths_sort_by_creation(cluster: &Cluster) {
    let store = cluster.store().await;
    let mut paths = Vec::new();
    for _ in 0..12 {
        let written = store.put("/q/n-", Bytes::new(), Expect::Any, PutOptions::SEQUENTIAL).await.unwrap();
        assert_eq!(written.stat.version, 0);
        assert!(written.path["/q/n-".len()..].bytes().all(|byte| byte.is_ascii_digit()));
        paths.push(written.path);
    }
    let names: Vec<_> = paths.iter().map(|path| plerion_metadata::path::name(path)).collect();
    assert_eq!(store.children("/q").await.unwrap(), names);
}

pub(crate) async fn bad_input_is_refused(cluster: &Cluster) {
    let store = cluster.store().await;
    for path in ["", "a", "/a/", "/a//b", "/..", "/a\0b"] {
        assert!(matches!(store.get(path).await, Err(Error::InvalidPath { .. })), "{path:?}");
        assert!(matches!(put_if(&store, path, "x", Expect::Any).await, Err(Error::InvalidPath { .. })));
        assert!(matches!(store.watch(path).await, Err(Error::InvalidPath { .. })));
        assert!(matches!(store.children(path).await, Err(Error::InvalidPath { .. })));
        assert!(matches!(store.scan(path, None, 1).await, Err(Error::InvalidPath { .. })));
    }
    assert!(matches!(put_if(&store, "/", "x", Expect::Any).await, Err(Error::InvalidPath { .. })));

    let options = PutOptions::PERSISTENT;
    let largest = Bytes::from(vec![7; MAX_VALUE_BYTES]);
    store.put("/large", largest.clone(), Expect::Any, options).await.unwrap();
    assert_eq!(store.get("/large").await.unwrap().unwrap().value, largest);
    let too_large = Bytes::from(vec![7; MAX_VALUE_BYTES + 1]);
    assert_eq!(
        store.put("/large", too_large, Expect::Any, options).await.unwrap_err(),
        Error::ValueTooLarge { path: "/large".to_owned(), size: MAX_VALUE_BYTES + 1 }
    );
}

pub(crate) async fn one_of_many_writers_wins(cluster: &Cluster) {
    let stores = cluster.stores(16).await;
    for round in 0..10 {
        let path = format!("/race/{round}");
        let creations = join_all(stores.iter().map(|store| put_if(store, &path, "x", Expect::Absent))).await;
        assert_eq!(creations.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        let changes = join_all(stores.iter().map(|store| put_if(store, &path, "y", Expect::Version(0)))).await;
        assert_eq!(changes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        let deletes = join_all(stores.iter().map(|store| store.delete(&path, Expect::Version(1)))).await;
        assert_eq!(deletes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    }
}

/// Who lost a compare-and-set finds the winner with the next read.
pub(crate) async fn a_lost_race_shows_its_winner(cluster: &Cluster) {
    let stores = cluster.stores(8).await;
    for round in 0..10 {
        let (path, below) = (format!("/lost/{round}"), format!("/lost/{round}/below"));
        join_all(stores.iter().map(async |store| {
            let put = put_if(store, &path, "x", Expect::Absent).await;
            assert!(store.exists(&path).await.unwrap(), "{put:?}");
        }))
        .await;
        join_all(stores.iter().map(async |store| {
            let put = put_if(store, &path, "y", Expect::Version(0)).await;
            let found = store.get(&path).await.unwrap().unwrap().stat.version;
            assert_eq!(found, 1, "{put:?}");
        }))
        .await;
        join_all(stores.iter().enumerate().map(async |(at, store)| {
            if at % 2 == 0 {
                put(store, &below, "x").await;
            } else if let Err(Error::NotEmpty { .. }) = store.delete(&path, Expect::Any).await {
                assert!(store.exists(&below).await.unwrap());
            }
        }))
        .await;
        delete_surely(&stores[0], &below).await;
        join_all(stores.iter().map(async |store| {
            let delete = store.delete(&path, Expect::Any).await;
            assert!(!store.exists(&path).await.unwrap(), "{delete:?}");
        }))
        .await;
    }
}

async fn delete_surely(store: &plerion_metadata::SharedMetadataStore, row: &str) {
    store.delete(row, Expect::Any).await.unwrap();
    assert!(!store.exists(row).await.unwrap());
}

pub(crate) async fn sequential_paths_are_nobody_elses(cluster: &Cluster) {
    let stores = cluster.stores(4).await;
    let options = PutOptions { ephemeral: true, ..PutOptions::SEQUENTIAL };
    let last = stores[0].put("/s/n-", Bytes::new(), Expect::Any, options).await.unwrap().path;
    stores[0].delete(&last, Expect::Any).await.unwrap();
    let made = join_all(stores.iter().map(async |store| {
        let mut paths = Vec::new();
        for _ in 0..10 {
            let written = store.put("/s/n-", Bytes::new(), Expect::Any, options).await.unwrap();
            assert!(written.stat.ephemeral && written.stat.created_by_self);
            paths.push(written.path);
        }
        assert!(paths.is_sorted());
        paths
    }))
    .await;
    let distinct: std::collections::BTreeSet<_> = made.iter().flatten().collect();
    assert_eq!(distinct.len(), 40);
    // A number that was given is not given again, although its row was the only one.
    assert!(distinct.iter().all(|path| **path > last));
}

pub(crate) async fn counters_lose_nothing(cluster: &Cluster) {
    let stores = cluster.stores(8).await;
    put_if(&stores[0], "/n", "0", Expect::Absent).await.unwrap();
    let add = async |store: &plerion_metadata::SharedMetadataStore, durable: bool| {
        let options = if durable { PutOptions::PERSISTENT } else { PutOptions::PERSISTENT.eventual() };
        for _ in 0..20 {
            loop {
                let record = store.get("/n").await.unwrap().unwrap();
                let count: u64 = std::str::from_utf8(&record.value).unwrap().parse().unwrap();
                let expect = Expect::Version(record.stat.version);
                match store.put("/n", (count + 1).to_string().into(), expect, options).await {
                    Ok(_) => break,
                    Err(error) => assert!(error.is_conflict(), "{error}"),
                }
                tokio::task::yield_now().await;
            }
        }
    };
    join_all(stores.iter().enumerate().map(|(at, store)| add(store, at % 2 == 0))).await;
    assert_eq!(value(&stores[0], "/n").await.as_deref(), Some("160"));
    assert_eq!(stores[0].get("/n").await.unwrap().unwrap().stat.version, 160);
}

pub(crate) async fn eventual_writes_are_seen_at_once(cluster: &Cluster) {
    let (writer, reader) = (cluster.store().await, cluster.store().await);
    let eventual = PutOptions::PERSISTENT.eventual();
    put(&writer, "/e/b", "on disk").await;
    for (path, expect) in [("/e/a", Expect::Absent), ("/e/b", Expect::Version(0)), ("/e/a", Expect::Version(0))] {
        let written = writer.put(path, Bytes::from_static(b"eventual"), expect, eventual).await.unwrap();
        let record = reader.get(path).await.unwrap().unwrap();
        assert_eq!((&*record.value, record.stat.version), (&b"eventual"[..], written.stat.version));
    }
    assert_eq!(reader.children("/e").await.unwrap(), ["a", "b"]);
    // A later synced write and delete of the same rows go on from there.
    put_if(&writer, "/e/a", "synced", Expect::Version(1)).await.unwrap();
    writer.delete("/e/b", Expect::Version(1)).await.unwrap();
    assert_eq!(value(&reader, "/e/a").await.as_deref(), Some("synced"));
    assert_eq!(reader.children("/e").await.unwrap(), ["a"]);
}

pub(crate) async fn reads_by_another_handle_see_every_acknowledged_write(cluster: &Cluster) {
    let (writer, reader) = (cluster.store().await, cluster.store().await);
    for round in 0..20 {
        let path = format!("/r/{round}");
        put(&writer, &path, "x").await;
        assert!(reader.exists(&path).await.unwrap());
        writer.delete(&path, Expect::Any).await.unwrap();
        assert!(!reader.exists(&path).await.unwrap());
    }
}
