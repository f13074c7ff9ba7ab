//! A broker of the test's own.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use plerion_broker::{AllowAll, Authorizer, Broker, Handle, Parts, ShardCounters, StoreFactory};
use plerion_clock::SystemClock;
use plerion_config::{LiveSettings, Sources};
use plerion_ledger::memory;
use plerion_metadata::MemoryStore;
use plerion_resources::names::TopicName;

use super::Session;

/// Longer than anything a test waits for.
const HANGS: Duration = Duration::from_secs(60);

/// Settings by their names.
pub(crate) type Settings<'a> = &'a [(&'a str, &'a str)];

/// Runs `test` against a broker of one shard, where everything is local, and against one of three, from two of its
/// shards: from one of them at least, a topic lives elsewhere than the connection.
pub(crate) fn everywhere(test: impl AsyncFn(&World)) {
    everywhere_with(&[], test);
}

/// As [`everywhere`], with settings.
pub(crate) fn everywhere_with(settings: Settings<'_>, test: impl AsyncFn(&World)) {
    run(&[(1, 0), (3, 0), (3, 1)], settings, &test);
}

/// Runs `test` once, for what does not depend on where topics live.
pub(crate) fn on_one_shard(settings: Settings<'_>, test: impl AsyncFn(&World)) {
    run(&[(1, 0)], settings, &test);
}

/// Runs `test` against brokers of so many shards, side by side, so that their waits are one; the first connection is
/// on the shard of that number.
fn run(brokers: &[(usize, usize)], settings: Settings<'_>, test: &impl AsyncFn(&World)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let runs = brokers.iter().map(async |&(shards, first)| {
        let run = AssertUnwindSafe(run_one(shards, first, settings, test)).catch_unwind();
        if let Err(panic) = run.await {
            eprintln!("failed with {shards} shards, the first connection on shard {first}");
            resume_unwind(panic);
        }
    });
    runtime.block_on(futures::future::join_all(runs));
}

async fn run_one(shards: usize, first: usize, settings: Settings<'_>, test: &impl AsyncFn(&World)) {
    let world = World::start(shards, settings, Arc::new(AllowAll)).await;
    for _ in 0..first {
        // Connections are handed to the shards in turn.
        drop(world.session().await);
    }
    tokio::time::timeout(HANGS, test(&world)).await.expect("the test ends");
    world.stop().await;
}

/// A broker and what is under it.
pub(crate) struct World {
    pub(crate) broker: Broker,
    pub(crate) metadata: Arc<MemoryStore>,
    pub(crate) ledgers: memory::MemoryStore,
}

impl World {
    pub(crate) async fn start(shards: usize, settings: Settings<'_>, authorizer: Arc<dyn Authorizer>) -> Self {
        Self::on(Arc::new(MemoryStore::new()), memory::MemoryStore::new(), shards, settings, authorizer).await
    }

    async fn on(
        metadata: Arc<MemoryStore>,
        ledgers: memory::MemoryStore,
        shards: usize,
        settings: Settings<'_>,
        authorizer: Arc<dyn Authorizer>,
    ) -> Self {
        let broker = Broker::start(parts(&metadata, &ledgers, shards, settings, authorizer)).await.unwrap();
        Self { broker, metadata, ledgers }
    }

    /// Another broker on the ledgers of `world`, with metadata of its own.
    pub(crate) async fn with_metadata_lost(world: &Self) -> Self {
        Self::on(Arc::new(MemoryStore::new()), world.ledgers.clone(), 1, &[], Arc::new(AllowAll)).await
    }

    /// Ends the broker and starts another one on the same stores, which has them to itself.
    pub(crate) async fn restart_alone(self) -> Self {
        let Self { broker, metadata, ledgers } = self;
        broker.stop().await;
        let broker = Broker::start_alone(parts(&metadata, &ledgers, 2, &[], Arc::new(AllowAll))).await.unwrap();
        Self { broker, metadata, ledgers }
    }

    /// Ends the broker as a crash does, with its clients attached, and starts another one on the same stores.
    pub(crate) async fn crash_and_restart(self) -> Self {
        let Self { broker, metadata, ledgers } = self;
        ledgers.crash(usize::MAX);
        broker.stop().await;
        Self::on(metadata, ledgers, 1, &[], Arc::new(AllowAll)).await
    }

    pub(crate) async fn stop(self) {
        self.broker.stop().await;
    }

    pub(crate) fn port(&self) -> u16 {
        self.broker.port().unwrap()
    }

    pub(crate) fn handle(&self) -> Handle {
        self.broker.handle()
    }

    /// A connection that has shaken hands.
    pub(crate) async fn session(&self) -> Session {
        Session::open(self.port()).await
    }

    /// A connection that has not said anything.
    pub(crate) async fn silent(&self) -> Session {
        Session::connect(self.port()).await
    }

    /// The sum of a counter over the shards.
    pub(crate) fn count(&self, counter: impl Fn(&ShardCounters) -> &std::sync::atomic::AtomicU64) -> u64 {
        self.handle().counters().iter().map(|shard| counter(shard).load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.handle().counters().iter().map(|shard| shard.open_connections()).sum()
    }

    /// Waits until `condition` holds.
    pub(crate) async fn until(&self, what: &str, condition: impl AsyncFn(&Self) -> bool) {
        let wait = async {
            while !condition(self).await {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
        assert!(waited.is_ok(), "never: {what}");
    }

    /// Waits until a topic has so many producers and consumers.
    pub(crate) async fn until_attached(&self, topic: &str, producers: usize, consumers: usize) {
        let name = name(topic);
        self.until("the topic has these clients", async |world| {
            let stats = world.handle().topic_stats(&name).await.unwrap();
            let attached: usize = stats.subscriptions.values().map(|one| one.consumers.len()).sum();
            (stats.publishers.len(), attached) == (producers, consumers)
        })
        .await;
    }

    /// Closes a topic with everybody on it.
    pub(crate) async fn unload(&self, topic: &str) {
        self.handle().unload_topic(&name(topic)).await.unwrap();
    }

    /// Makes a topic partitioned.
    pub(crate) async fn partition(&self, topic: &str, partitions: u32) {
        let topics = self.handle().resources().topics().clone();
        topics.create_partitioned(&name(topic), partitions, Default::default()).await.unwrap();
    }
}

/// What a broker on these stores is made of.
fn parts(
    metadata: &Arc<MemoryStore>,
    ledgers: &memory::MemoryStore,
    shards: usize,
    settings: Settings<'_>,
    authorizer: Arc<dyn Authorizer>,
) -> Parts {
    let sources = Sources::new().set("brokerServicePort", "0").set("numIOThreads", &shards.to_string());
    let sources = settings.iter().fold(sources, |sources, (key, value)| sources.set(key, value));
    let (settings, _) = sources.resolve().unwrap();
    let store: StoreFactory = {
        let ledgers = ledgers.clone();
        Arc::new(move || ledgers.shard())
    };
    Parts {
        settings: Arc::new(LiveSettings::new(settings)),
        clock: SystemClock::shared(),
        metadata: metadata.clone(),
        store,
        authorizer,
        web_port: None,
    }
}

/// A topic's name, parsed.
pub(crate) fn name(topic: &str) -> TopicName {
    topic.parse().unwrap()
}
