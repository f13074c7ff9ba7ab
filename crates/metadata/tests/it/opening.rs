//! Stores opened by their URL.

use std::time::Duration;

use plerion_metadata::{OpenStoreError, SharedMetadataStore, StoreOptions, StoreUrl, open};

use crate::cluster::server::{Server, free_port};
use crate::cluster::{put, value};

async fn open_url(url: &str, options: &StoreOptions) -> Result<SharedMetadataStore, OpenStoreError> {
    open(&url.parse().unwrap(), options).await
}

#[tokio::test]
async fn local_stores_open_by_url() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions { file: Some(dir.path().join("own")), ..StoreOptions::default() };
    let named = format!("embedded:{}", dir.path().join("named").display());
    for url in ["memory:", "embedded:", &named] {
        put(&open_url(url, &options).await.unwrap(), "/a", "x").await;
    }
    assert!(dir.path().join("own").is_file() && dir.path().join("named").is_file());
    let error = open_url("embedded:", &StoreOptions::default()).await.err().unwrap();
    assert!(matches!(error, OpenStoreError::NoFile), "{error}");
}

#[tokio::test]
async fn servers_that_are_not_there_are_an_error() {
    let options = StoreOptions { session_timeout: Duration::from_millis(500), ..StoreOptions::default() };
    for scheme in ["zk", "etcd"] {
        let url: StoreUrl = format!("{scheme}:127.0.0.1:{}", free_port()).parse().unwrap();
        let error = tokio::time::timeout(Duration::from_secs(20), open(&url, &options)).await.unwrap().err().unwrap();
        let text = error.to_string();
        let OpenStoreError::Servers { source, .. } = error else { panic!("{error}") };
        assert!(source.is_retryable() && text.contains(&url.to_string()), "{text}");
    }
}

async fn serves_by_url(server: &Server, scheme: &str) {
    server.ready().await;
    let (whole, part) =
        (format!("{scheme}:127.0.0.1:{}", server.port), format!("{scheme}:127.0.0.1:{}/a", server.port));
    let options = StoreOptions::default();
    let (whole, part) = (open_url(&whole, &options).await.unwrap(), open_url(&part, &options).await.unwrap());
    put(&part, "/b", "x").await;
    assert_eq!(value(&whole, "/a/b").await.as_deref(), Some("x"));
    assert_eq!(whole.children("/").await.unwrap(), ["a"]);
    assert_eq!(part.children("/").await.unwrap(), ["b"]);
    assert_eq!(part.scan("/", None, 10).await.unwrap()[0].0, "/b");
    let mut paths = Vec::new();
    for number in 0..3 {
        put(&whole, &format!("/{number}"), "x").await;
        paths.push(format!("/{number}"));
    }
    paths.push("/a/b".to_owned());
    let all = whole.scan("/", None, 10).await.unwrap();
    assert!(all.iter().map(|(path, _)| path).filter(|path| *path != "/a").eq(&paths), "{all:?}");
}

#[tokio::test]
#[ignore = "needs ZooKeeper"]
async fn zookeeper_opens_by_url() {
    serves_by_url(&Server::zookeeper(), "zk").await;
}

#[tokio::test]
#[ignore = "needs etcd"]
async fn etcd_opens_by_url() {
    serves_by_url(&Server::etcd(), "etcd").await;
}
