//! The tree of ledgers in a metadata store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures::executor::block_on;
use futures::future::BoxFuture;
use plerion_bookkeeper::bookie::BookieId;
use plerion_bookkeeper::digest::DigestType;
use plerion_bookkeeper::directory::{Ask, Directory, DirectoryError, Told, ledger_path};
use plerion_bookkeeper::ledger_metadata::LedgerMetadata;
use plerion_bookkeeper::quorum::Quorum;
use plerion_ledger::LedgerId;
use plerion_metadata::{
    Error, Expect, MemoryStore, MetadataStore, PutOptions, Record, Result, SessionEvents, Watch, Written,
};

/// A store that does what it is asked and then loses the answer to some writes.
struct Forgetful {
    inner: MemoryStore,
    lose: AtomicU32,
}

impl Forgetful {
    fn new(lose: u32) -> Arc<Self> {
        Arc::new(Self { inner: MemoryStore::new(), lose: AtomicU32::new(lose) })
    }

    fn loses(&self, path: &str) -> bool {
        path.contains("/L")
            && self.lose.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

impl MetadataStore for Forgetful {
    fn get<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Record>>> {
        self.inner.get(path)
    }

    fn put<'a>(
        &'a self,
        path: &'a str,
        value: Bytes,
        expect: Expect,
        options: PutOptions,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(async move {
            let written = self.inner.put(path, value, expect, options).await?;
            if self.loses(path) {
                return Err(Error::UnknownOutcome { path: path.to_owned(), why: "test".to_owned() });
            }
            Ok(written)
        })
    }

    fn delete<'a>(&'a self, path: &'a str, expect: Expect) -> BoxFuture<'a, Result<()>> {
        self.inner.delete(path, expect)
    }

    fn children_page<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        self.inner.children_page(path, after, limit)
    }

    fn scan<'a>(
        &'a self,
        path: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(String, Record)>>> {
        self.inner.scan(path, after, limit)
    }

    fn watch<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Watch>> {
        self.inner.watch(path)
    }

    fn session_events(&self) -> SessionEvents {
        self.inner.session_events()
    }
}

fn metadata(token: i64) -> LedgerMetadata {
    let ensemble = vec![BookieId::new("a:1").unwrap()];
    let mut metadata = LedgerMetadata::open(Quorum::new(1, 1, 1).unwrap(), ensemble, DigestType::Crc32c, Bytes::new());
    metadata.token = Some(token);
    metadata
}

#[test]
fn ledgers_are_created_found_listed_and_deleted() {
    block_on(async {
        let directory = Directory::new(Arc::new(MemoryStore::new()), "/ledgers");
        directory.initialize("25d69525-33f1-4e55-b85c-07d9f0358ac4").await.unwrap();
        directory.initialize("another").await.unwrap();
        directory.check_layout().await.unwrap();
        let mut made = Vec::new();
        for token in 0..5 {
            made.push(directory.create(metadata(token)).await.unwrap().0);
        }
        assert!(made.is_sorted());
        assert_eq!(directory.list().await.unwrap(), made);
        let found = directory.get(made[2]).await.unwrap().unwrap();
        assert_eq!((found.version, found.metadata.token), (0, Some(2)));
        // C47: deleting twice succeeds, and the ledger is gone.
        directory.delete(made[2]).await.unwrap();
        directory.delete(made[2]).await.unwrap();
        assert!(directory.get(made[2]).await.unwrap().is_none());
        assert!(matches!(directory.ask(made[2], Ask::Read).await, Told::Absent));
        assert_eq!(directory.list().await.unwrap().len(), 4);
    });
}

/// C45: the answer to a create is lost; there is one ledger.
#[test]
fn c45_a_lost_answer_to_create_makes_no_second_ledger() {
    block_on(async {
        let store = Forgetful::new(1);
        let directory = Directory::new(store, "/ledgers");
        let (ledger, created) = directory.create(metadata(77)).await.unwrap();
        assert_eq!(directory.list().await.unwrap(), [ledger]);
        assert_eq!(created.metadata.token, Some(77));
    });
}

/// C45: the answer to a compare-and-set is lost; reading tells.
#[test]
fn c45_a_lost_answer_to_a_change_is_told_as_unknown() {
    block_on(async {
        let store = Forgetful::new(0);
        let directory = Directory::new(Arc::clone(&store) as _, "/ledgers");
        let (ledger, created) = directory.create(metadata(1)).await.unwrap();
        store.lose.store(1, Ordering::Relaxed);
        let mut changed = created.metadata.clone();
        changed.set_custom("k", Bytes::from("v"));
        let ask = || Ask::Write { version: created.version, metadata: Arc::new(changed.clone()) };
        assert!(matches!(directory.ask(ledger, ask()).await, Told::Unknown));
        assert!(matches!(directory.ask(ledger, ask()).await, Told::Conflict));
        let Told::Found(found) = directory.ask(ledger, Ask::Read).await else { panic!("not found") };
        assert!(found.metadata.is_equivalent(&changed) && found.version == 1);
    });
}

/// C46: numbers beyond 31 bits.
#[test]
fn c46_numbers_go_on_beyond_31_bits() {
    block_on(async {
        let store = Arc::new(MemoryStore::new());
        let directory = Directory::new(Arc::clone(&store) as _, "/ledgers");
        store.put("/ledgers/idgen-long", Bytes::new(), Expect::Absent, PutOptions::PERSISTENT).await.unwrap();
        let (ledger, _) = directory.create(metadata(1)).await.unwrap();
        assert_eq!(ledger.0 >> 32, 1);
        assert!(ledger_path(ledger).starts_with("000/0000/0042/949"));
        assert_eq!(directory.list().await.unwrap(), [ledger]);
        let next = directory.create(metadata(2)).await.unwrap().0;
        assert!(next > ledger);
    });
}

#[test]
fn other_layouts_are_refused() {
    block_on(async {
        let store = Arc::new(MemoryStore::new());
        let directory = Directory::new(Arc::clone(&store) as _, "/ledgers");
        directory.check_layout().await.unwrap();
        let flat = Bytes::from("2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1");
        store.put("/ledgers/LAYOUT", flat, Expect::Absent, PutOptions::PERSISTENT).await.unwrap();
        let refused = directory.check_layout().await.unwrap_err();
        assert!(matches!(&refused, DirectoryError::Layout { .. }) && refused.to_string().contains("Flat"));
    });
}

#[test]
fn unreadable_metadata_is_told_apart_from_a_missing_ledger() {
    block_on(async {
        let store = Arc::new(MemoryStore::new());
        let directory = Directory::new(Arc::clone(&store) as _, "/ledgers");
        let path = format!("/ledgers/{}", ledger_path(LedgerId(9)));
        store.put(&path, Bytes::from("nonsense"), Expect::Absent, PutOptions::PERSISTENT).await.unwrap();
        let Told::Corrupt(why) = directory.ask(LedgerId(9), Ask::Read).await else { panic!("not corrupt") };
        assert!(why.contains("ledger 9") && why.contains("format version"), "{why}");
    });
}
