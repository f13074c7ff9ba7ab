//! The store as one shard sees it.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};
use plerion_clock::SharedClock;
use plerion_ledger::{
    AppendSink, Closed, CreateOptions, Entry, Epoch, Error, LedgerId, LedgerStore, LedgerWriter, ReadError,
};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::runner::Runner;
use super::tail::Tail;
use super::{Config, Metrics};
use crate::directory::{Bookies, Directory, DirectoryError};
use crate::ledger_metadata::LedgerMetadata;
use crate::net::Connections;
use crate::placement::Pool;
use crate::protocol::writer::Writer;

/// Closed ledgers whose metadata a shard keeps.
const MAX_KNOWN: usize = 4_096;
/// Ledgers whose metadata is read at the same time.
const LOOK_AT_ONCE: usize = 64;
/// The custom key by which ledgers of stores of this kind are known.
pub(super) const MADE_BY_KEY: &str = "plerion/made-by";
/// How long to wait before asking for the bookies again after the metadata store failed.
const RETRY: Duration = Duration::from_millis(200);

pub(super) struct Shard {
    pub(super) directory: Directory,
    pub(super) config: Config,
    pub(super) clock: SharedClock,
    pub(super) metrics: Arc<Metrics>,
    pub(super) connections: Connections,
    pub(super) pool: RefCell<Pool>,
    pub(super) tail: RefCell<Tail>,
    /// The ledgers that are written here.
    pub(super) writers: RefCell<HashMap<LedgerId, Weak<Runner<Writer>>>>,
    /// Whether bookies hung up on being asked for many entries, as old ones do.
    pub(super) no_batches: Cell<bool>,
    /// Metadata of closed ledgers, which does not change but for repairs.
    known: RefCell<HashMap<LedgerId, Arc<LedgerMetadata>>>,
}

impl Shard {
    pub(super) fn start(
        directory: Directory,
        config: Config,
        clock: SharedClock,
        metrics: Arc<Metrics>,
    ) -> Rc<dyn LedgerStore> {
        let shard = Rc::new(Self {
            connections: Connections::new(config.connections, clock.clone()),
            pool: RefCell::new(Pool::new(config.quarantine, SmallRng::seed_from_u64(random()))),
            tail: RefCell::new(Tail::new(config.tail_bytes)),
            writers: RefCell::default(),
            no_batches: Cell::new(false),
            known: RefCell::default(),
            directory,
            config,
            clock,
            metrics,
        });
        tokio::task::spawn_local(follow_bookies(Rc::downgrade(&shard)));
        Rc::new(Client(shard))
    }

    /// The bookies, with what is held against them as of now.
    pub(super) fn pool_now(&self) -> RefMut<'_, Pool> {
        let mut pool = self.pool.borrow_mut();
        pool.set_time(self.clock.monotonic());
        pool
    }

    pub(super) async fn refresh_bookies(&self) -> Result<(), DirectoryError> {
        let bookies: Bookies = self.directory.bookies().await?;
        self.pool.borrow_mut().register(bookies);
        Ok(())
    }

    /// The ledgers that stores of this kind made. Whatever else shares the bookies is not told: what is listed here
    /// and belongs to no log may be deleted.
    async fn own_ledgers(&self) -> Result<Vec<LedgerId>, DirectoryError> {
        let all = self.directory.list().await?;
        let looked_at = all.into_iter().map(async |ledger| (ledger, self.directory.get(ledger).await));
        let mut looked_at = futures::stream::iter(looked_at).buffered(LOOK_AT_ONCE);
        let mut own = Vec::new();
        while let Some((ledger, found)) = looked_at.next().await {
            match found {
                Ok(Some(found)) if found.metadata.custom(MADE_BY_KEY).is_some() => own.push(ledger),
                // Not made by this kind of store, which writes what it can read.
                Ok(_) | Err(DirectoryError::Metadata { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(own)
    }

    pub(super) fn known(&self, ledger: LedgerId) -> Option<Arc<LedgerMetadata>> {
        self.known.borrow().get(&ledger).cloned()
    }

    pub(super) fn learn(&self, ledger: LedgerId, metadata: Arc<LedgerMetadata>) {
        let mut known = self.known.borrow_mut();
        if known.len() >= MAX_KNOWN
            && let Some(any) = known.keys().next().copied()
        {
            known.remove(&any);
        }
        known.insert(ledger, metadata);
    }

    pub(super) fn forget(&self, ledger: LedgerId) {
        self.known.borrow_mut().remove(&ledger);
    }
}

/// Keeps the list of bookies up to date for as long as the shard lives.
async fn follow_bookies(shard: Weak<Shard>) {
    loop {
        let Some(alive) = shard.upgrade() else { return };
        let watch = alive.directory.watch_bookies().await;
        let refreshed = alive.refresh_bookies().await;
        drop(alive);
        let mut watch = match (watch, refreshed) {
            (Ok(watch), Ok(())) => watch,
            (Err(error), _) | (_, Err(error)) => {
                tracing::warn!(%error, "the list of bookies cannot be read");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        while watch.next().await.is_some() {
            let Some(alive) = shard.upgrade() else { return };
            if let Err(error) = alive.refresh_bookies().await {
                tracing::warn!(%error, "the list of bookies cannot be read");
                break;
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// A number that no other process and no other shard draws.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

pub(super) fn store_error(error: &DirectoryError) -> Error {
    Error::Unavailable(Arc::from(error.to_string()))
}

pub(super) struct Client(pub(super) Rc<Shard>);

impl LedgerStore for Client {
    fn create(
        &self,
        epoch: Epoch,
        _: CreateOptions,
        sink: Rc<dyn AppendSink>,
    ) -> LocalBoxFuture<'static, Result<Box<dyn LedgerWriter>, Error>> {
        super::writer::create(Rc::clone(&self.0), epoch, sink).boxed_local()
    }

    fn read_cached(&self, ledger: LedgerId, first: u64, last: u64, max_bytes: usize, out: &mut Vec<Entry>) -> usize {
        self.0.tail.borrow().read(ledger, first, last, max_bytes, out)
    }

    fn read(
        &self,
        ledger: LedgerId,
        first: u64,
        last: u64,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Vec<Entry>, ReadError>> {
        super::read::read(Rc::clone(&self.0), ledger, first, last, max_bytes).boxed_local()
    }

    fn recover(&self, ledger: LedgerId, epoch: Epoch) -> LocalBoxFuture<'static, Result<Closed, Error>> {
        super::recover::recover(Rc::clone(&self.0), ledger, epoch).boxed_local()
    }

    fn delete(&self, ledger: LedgerId) -> LocalBoxFuture<'static, Result<(), Error>> {
        let shard = Rc::clone(&self.0);
        async move {
            shard.forget(ledger);
            shard.directory.delete(ledger).await.map_err(|error| store_error(&error))
        }
        .boxed_local()
    }

    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<LedgerId>, Error>> {
        let shard = Rc::clone(&self.0);
        async move { shard.own_ledgers().await.map_err(|error| store_error(&error)) }.boxed_local()
    }
}
