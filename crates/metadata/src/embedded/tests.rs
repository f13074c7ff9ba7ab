//! Disks that fail.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use super::device::Blocks;
use super::{EmbeddedOptions, EmbeddedStore};
use crate::{Error, Expect, MetadataStore, PutOptions, Result, Written};

/// A disk in memory that can be full, unable to sync, or unable to do anything.
#[derive(Debug)]
struct FaultyDisk {
    bytes: Mutex<Vec<u8>>,
    /// Offset from which on writes find no space.
    space: AtomicU64,
    fails_sync: AtomicBool,
    fails_writes: AtomicBool,
}

impl FaultyDisk {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            bytes: Mutex::default(),
            space: AtomicU64::new(u64::MAX),
            fails_sync: AtomicBool::new(false),
            fails_writes: AtomicBool::new(false),
        })
    }

    /// The disk as a crash leaves it now.
    fn copy(&self) -> Arc<Self> {
        let copy = Self::new();
        copy.bytes.lock().clone_from(&self.bytes.lock());
        copy
    }
}

impl Blocks for FaultyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes.lock();
        let start = usize::try_from(offset).unwrap();
        out.copy_from_slice(bytes.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.fails_writes.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is gone"));
        }
        if offset + data.len() as u64 > self.space.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let start = usize::try_from(offset).unwrap();
        self.bytes.lock()[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        if self.fails_sync.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk does not sync"));
        }
        Ok(())
    }

    fn reserve(&self) {}

    fn release(&self) {}
}

fn open(disk: &Arc<FaultyDisk>) -> EmbeddedStore {
    // A cache this small makes reads go to the disk.
    EmbeddedStore::open_blocks(Arc::clone(disk) as _, &EmbeddedOptions { cache_bytes: 0 }).unwrap()
}

async fn put(store: &EmbeddedStore, path: &str) -> Result<Written> {
    store.put(path, Bytes::from(vec![7; 2_000]), Expect::Any, PutOptions::PERSISTENT).await
}

async fn until_written(store: &EmbeddedStore, path: &str) -> Written {
    loop {
        match put(store, path).await {
            Ok(written) => return written,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Writes until the disk has no space left; returns how many rows were acknowledged.
async fn fill(store: &EmbeddedStore, disk: &FaultyDisk) -> u64 {
    disk.space.store(disk.len().unwrap(), Ordering::SeqCst);
    for number in 0.. {
        match put(store, &format!("/rows/{number:05}")).await {
            Ok(_) => {}
            Err(Error::Unavailable { .. }) => return number,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the disk never fills up");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_keeps_what_it_has() {
    let disk = FaultyDisk::new();
    let store = open(&disk);
    let written = fill(&store, &disk).await;
    assert!(written > 0);
    // Nothing is half done, nothing acknowledged is lost, and reads go on.
    for _ in 0..3 {
        let rows = store.scan("/rows", None, 100_000).await.unwrap();
        assert_eq!(rows.len() as u64, written);
        assert!(rows.iter().all(|(_, row)| row.value.len() == 2_000));
        assert_eq!(store.get(&format!("/rows/{written:05}")).await.unwrap(), None);
    }
    disk.space.store(u64::MAX, Ordering::SeqCst);
    until_written(&store, "/after").await;
    let crashed = open(&disk.copy());
    assert_eq!(crashed.children("/rows").await.unwrap().len() as u64, written);
    assert!(crashed.exists("/after").await.unwrap());
}

#[tokio::test]
async fn eventual_rows_outlive_a_full_disk() {
    let disk = FaultyDisk::new();
    let store = open(&disk);
    store.put("/load", Bytes::from_static(b"1"), Expect::Any, PutOptions::PERSISTENT.eventual()).await.unwrap();
    fill(&store, &disk).await;
    assert_eq!(store.get("/load").await.unwrap().unwrap().stat.version, 0);
    disk.space.store(u64::MAX, Ordering::SeqCst);
    until_written(&store, "/after").await;
    assert!(open(&disk.copy()).exists("/load").await.unwrap());
}

#[tokio::test]
async fn ephemeral_rows_end_with_their_session_even_if_the_disk_fails_then() {
    let disk = FaultyDisk::new();
    let (store, owner) = {
        let store = open(&disk);
        let owner = store.open_session();
        (store, owner)
    };
    owner.put("/mine", Bytes::new(), Expect::Any, PutOptions::EPHEMERAL).await.unwrap();
    disk.space.store(0, Ordering::SeqCst);
    // The row's change is on its way to a disk that refuses it when the session ends.
    let change = put(&store, "/mine");
    let end = async { owner.expire_session() };
    let (outcome, ()) = tokio::join!(change, end);
    outcome.unwrap_err();
    disk.space.store(u64::MAX, Ordering::SeqCst);
    until_written(&store, "/after").await;
    assert_eq!(store.get("/mine").await.unwrap(), None);
    assert_eq!(open(&disk.copy()).children("/").await.unwrap(), ["after"]);
}

#[tokio::test]
async fn no_write_is_believed_after_a_failed_sync() {
    let disk = FaultyDisk::new();
    let store = open(&disk);
    put(&store, "/before").await.unwrap();
    disk.fails_sync.store(true, Ordering::SeqCst);
    let first = put(&store, "/during").await.unwrap_err();
    assert!(matches!(first, Error::Unavailable { .. } | Error::UnknownOutcome { .. }), "{first}");
    disk.fails_sync.store(false, Ordering::SeqCst);
    loop {
        match put(&store, "/after").await.unwrap_err() {
            Error::Unavailable { why } if why.starts_with("the disk failed to sync") => break,
            error => assert!(error.is_retryable(), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(store.exists("/before").await.unwrap());
    assert!(!store.exists("/after").await.unwrap());
    store.close().await;
    put(&open(&disk), "/after").await.unwrap();
}

#[tokio::test]
async fn a_disk_that_is_gone_is_an_error_until_it_is_back() {
    let disk = FaultyDisk::new();
    let store = open(&disk);
    put(&store, "/a").await.unwrap();
    disk.fails_writes.store(true, Ordering::SeqCst);
    let (write, read) = tokio::join!(put(&store, "/b"), store.get("/a"));
    assert!(read.is_ok_and(|row| row.is_some()));
    disk.fails_writes.store(false, Ordering::SeqCst);
    drop(write);
    until_written(&store, "/c").await;
    assert!(store.exists("/a").await.unwrap());
}

#[tokio::test]
async fn a_store_closes_on_a_disk_that_is_gone() {
    let disk = FaultyDisk::new();
    let store = open(&disk);
    disk.fails_writes.store(true, Ordering::SeqCst);
    let (write, ()) = tokio::join!(put(&store, "/a"), store.close());
    write.unwrap_err();
    assert_eq!(store.get("/a").await, Err(Error::Closed));
}

#[tokio::test]
async fn nobody_is_refused_for_a_change_that_comes_to_nothing() {
    let disk = FaultyDisk::new();
    let store = open(&disk);
    disk.space.store(0, Ordering::SeqCst);
    let create = || store.put("/a", Bytes::new(), Expect::Absent, PutOptions::PERSISTENT);
    // The second is decided while the first is on its way to a disk that refuses it.
    let (first, second) = tokio::join!(create(), create());
    let first = first.unwrap_err();
    assert!(matches!(first, Error::Unavailable { .. } | Error::UnknownOutcome { .. }), "{first}");
    let second = second.unwrap_err();
    assert!(second.is_retryable(), "{second}");
    disk.space.store(u64::MAX, Ordering::SeqCst);
    until_written(&store, "/after").await;
    assert_eq!(store.get("/a").await.unwrap(), None);
}
