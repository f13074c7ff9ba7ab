//! What the embedded engine promises beyond the contract.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use plerion_metadata::{
    EmbeddedOptions, EmbeddedStore, Error, Expect, FORMAT_VERSION, MetadataStore, NotificationKind, OpenError,
    PutOptions,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;

fn file() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("metadata");
    (dir, file)
}

fn open(file: &Path) -> EmbeddedStore {
    EmbeddedStore::open(file, &EmbeddedOptions::default()).unwrap()
}

async fn put(store: &EmbeddedStore, path: &str, options: PutOptions) -> u64 {
    store.put(path, Bytes::from_static(b"x"), Expect::Any, options).await.unwrap().stat.modified
}

#[tokio::test]
async fn rows_and_revisions_survive_a_restart() {
    let (_dir, file) = file();
    let store = open(&file);
    put(&store, "/a", PutOptions::PERSISTENT).await;
    put(&store, "/a", PutOptions::PERSISTENT).await;
    put(&store, "/eventual", PutOptions::PERSISTENT.eventual()).await;
    put(&store, "/session", PutOptions::EPHEMERAL).await;
    let last = put(&store, "/gone", PutOptions::PERSISTENT).await;
    store.delete("/gone", Expect::Any).await.unwrap();
    let before = store.get("/a").await.unwrap();
    store.close().await;

    let store = open(&file);
    assert_eq!(store.get("/a").await.unwrap(), before);
    assert_eq!(store.children("/").await.unwrap(), ["a", "eventual"]);
    assert!(put(&store, "/b", PutOptions::PERSISTENT).await > last + 1);
}

#[tokio::test]
async fn a_row_that_was_ephemeral_once_survives_as_what_it_is_now() {
    let (_dir, file) = file();
    let store = open(&file);
    put(&store, "/a", PutOptions::EPHEMERAL).await;
    store.delete("/a", Expect::Any).await.unwrap();
    put(&store, "/a", PutOptions::PERSISTENT).await;
    store.close().await;
    assert!(open(&file).exists("/a").await.unwrap());
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let (_dir, file) = file();
    let store = open(&file);
    let other = store.open_session();
    let mut watch = other.watch("/").await.unwrap();
    store.close().await;
    assert_eq!(other.get("/a").await, Err(Error::Closed));
    assert_eq!(other.delete("/a", Expect::Any).await, Err(Error::Closed));
    assert_eq!(other.watch("/").await.map(drop), Err(Error::Closed));
    assert_eq!(watch.next().await, None);
    other.close().await;
}

#[tokio::test]
async fn the_last_handle_frees_the_file() {
    let (_dir, file) = file();
    let store = open(&file);
    let other = store.open_session();
    drop(store);
    put(&other, "/a", PutOptions::PERSISTENT).await;
    assert!(matches!(EmbeddedStore::open(&file, &EmbeddedOptions::default()), Err(OpenError::InUse { .. })));
    drop(other);
    let store = loop {
        match EmbeddedStore::open(&file, &EmbeddedOptions::default()) {
            Ok(store) => break store,
            Err(error) => assert!(matches!(error, OpenError::InUse { .. }), "{error}"),
        }
    };
    assert!(store.exists("/a").await.unwrap());
}

#[tokio::test]
async fn an_eventual_write_is_on_disk_soon() {
    let (dir, file) = file();
    let store = open(&file);
    put(&store, "/a", PutOptions::PERSISTENT.eventual()).await;
    // A copy of the file is what a crash leaves.
    let copy = dir.path().join("copy");
    tokio::time::timeout(Duration::from_secs(10), async {
        loop {
            tokio::task::yield_now().await;
            std::fs::copy(&file, &copy).unwrap();
            let Ok(crashed) = EmbeddedStore::open(&copy, &EmbeddedOptions::default()) else { continue };
            let found = crashed.exists("/a").await.unwrap();
            crashed.close().await;
            if found {
                break;
            }
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_synced_write_carries_earlier_eventual_ones() {
    let (dir, file) = file();
    let store = open(&file);
    for round in 0..20 {
        put(&store, &format!("/eventual/{round}"), PutOptions::PERSISTENT.eventual()).await;
        put(&store, "/synced", PutOptions::PERSISTENT).await;
        let copy = dir.path().join("copy");
        std::fs::copy(&file, &copy).unwrap();
        let crashed = open(&copy);
        assert_eq!(crashed.children("/eventual").await.unwrap().len(), round + 1);
        crashed.close().await;
    }
}

/// Random writes by several sessions that also expire, told by a watch: what it told is what there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_watch_replays_the_store() {
    let (_dir, file) = file();
    let store = open(&file);
    let mut watch = store.watch("/").await.unwrap();
    let tasks = (0..6_u64).map(|seed| {
        let session = store.open_session();
        tokio::spawn(async move {
            let mut random = StdRng::seed_from_u64(seed);
            for _ in 0..150 {
                let path = format!("/{}", random.random_range(0..8));
                let options = PutOptions { ephemeral: random.random(), ..PutOptions::PERSISTENT };
                let outcome = match random.random_range(0..10) {
                    0..3 => session.put(&path, Bytes::new(), Expect::Any, options).await.map(drop),
                    3..7 => session.put(&path, Bytes::new(), Expect::Any, options.eventual()).await.map(drop),
                    7..9 => session.delete(&path, Expect::Any).await,
                    _ => {
                        session.expire_session();
                        Ok(())
                    }
                };
                assert!(matches!(outcome, Ok(()) | Err(Error::NotFound { .. })), "seed {seed}: {outcome:?}");
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    // Every session is over: what is on its way is a delete, and what is left will stay.
    let rows = loop {
        let rows = store.scan("/", None, 100).await.unwrap();
        if rows.iter().all(|(_, row)| !row.stat.ephemeral) {
            break rows;
        }
        put(&store, "/settle", PutOptions::PERSISTENT).await;
    };
    store.close().await;
    let mut replayed: BTreeMap<String, u64> = BTreeMap::new();
    let mut revisions: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(event) = watch.next().await {
        if event.kind == NotificationKind::ChildrenChanged {
            continue;
        }
        let last = revisions.insert(event.path.clone(), event.revision);
        assert!(last.is_none_or(|last| last < event.revision), "{event:?} after {last:?}");
        let before = match event.kind {
            NotificationKind::Deleted => replayed.remove(&event.path),
            _ => replayed.insert(event.path.clone(), event.revision),
        };
        assert_eq!(before.is_some(), event.kind != NotificationKind::Created, "{event:?}");
    }
    let rows: BTreeMap<_, _> = rows.into_iter().map(|(path, row)| (path, row.stat.modified)).collect();
    assert_eq!(replayed, rows);
}

/// Whether opening the database means to walk all of it first.
fn needs_repair(file: &Path) -> bool {
    let repaired = Rc::new(Cell::new(false));
    let seen = Rc::clone(&repaired);
    let opened = redb::Builder::new().set_repair_callback(move |_| seen.set(true)).open(file);
    repaired.get() || opened.is_err()
}

#[tokio::test]
async fn a_crash_of_an_idle_store_needs_no_repair() {
    let (dir, file) = file();
    let store = open(&file);
    put(&store, "/a", PutOptions::PERSISTENT).await;
    let copy = dir.path().join("copy");
    tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            std::fs::copy(&file, &copy).unwrap();
            if !needs_repair(&copy) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
    assert!(open(&copy).exists("/a").await.unwrap());
}

#[tokio::test]
async fn writes_are_grouped_and_reads_do_not_wait() {
    let (_dir, file) = file();
    let store = open(&file);
    let writes = join_all((0..500).map(|at| {
        let path = format!("/g/{}", at % 50);
        let store = &store;
        async move { put(store, &path, PutOptions::PERSISTENT).await }
    }));
    let reads = async {
        for _ in 0..500 {
            store.get("/g/0").await.unwrap();
        }
    };
    let (revisions, ()) = tokio::join!(writes, reads);
    assert!(revisions.windows(2).all(|pair| pair[0] < pair[1]));
    let rows = store.scan("/g", None, 100).await.unwrap();
    assert!(rows.len() == 50 && rows.iter().all(|(_, row)| row.stat.version == 9));
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    const META: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("meta");
    let (_dir, file) = file();
    let newer = FORMAT_VERSION + 1;
    let database = redb::Database::create(&file).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert("format", newer).unwrap();
    transaction.commit().unwrap();
    drop(database);
    for _ in 0..2 {
        let error = EmbeddedStore::open(&file, &EmbeddedOptions::default()).err().unwrap();
        let OpenError::UnsupportedFormat { found, supported } = error else { panic!("{error}") };
        assert_eq!((found, supported), (newer, FORMAT_VERSION));
    }
}

#[test]
fn garbage_is_an_error() {
    let (dir, file) = file();
    std::fs::write(&file, vec![0x5a; 10_000]).unwrap();
    let options = EmbeddedOptions::default();
    assert!(matches!(EmbeddedStore::open(&file, &options), Err(OpenError::Database(_))));
    assert!(matches!(EmbeddedStore::open(&dir.path().join("no/such"), &options), Err(OpenError::File { .. })));
}

/// What a full disk cannot refuse.
#[tokio::test]
async fn space_is_taken_for_the_file_and_its_growth() {
    use std::os::unix::fs::MetadataExt;

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("metadata");
    let store = EmbeddedStore::open(&file, &EmbeddedOptions::default()).unwrap();
    let taken = || {
        let metadata = std::fs::metadata(&file).unwrap();
        (metadata.blocks() * 512, metadata.len())
    };
    let (space, length) = taken();
    assert!(space >= length + (4 << 20), "{space} bytes for a file of {length}");
    let value = vec![7; 64 << 10];
    for row in 0..100 {
        store.put(&format!("/row/{row}"), value.clone().into(), Expect::Any, PutOptions::default()).await.unwrap();
    }
    let (space, grown) = taken();
    assert!(grown > length && space >= grown + (4 << 20), "{space} bytes for a file of {grown}");
}
