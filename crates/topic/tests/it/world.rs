//! A shard with one topic over stores in memory, and clients that write down what they are told.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plerion_clock::ManualClock;
use plerion_config::Settings;
use plerion_ledger::Epoch;
use plerion_ledger::memory::MemoryStore;
use plerion_managed_log::{Config, OpenMode, StateLog};
use plerion_metadata::MemoryStore as MetadataStore;
use plerion_resources::names::TopicName;
use plerion_subscription::dispatcher::Kind;
use plerion_topic::{
    Bundle, ClientFacts, ConnectionId, ConnectionKey, Consumer, Context, Error, NewConsumer, NewProducer, Producer,
    Start, Topic,
};
use plerion_wire::proto::ProducerAccessMode;
use slotmap::KeyData;

use crate::message::Outgoing;
use crate::recorder::Recorder;

/// When every test begins, in ms since the epoch.
pub(crate) const START: u64 = 1_000_000;

/// The broker's shard, from its start to its crash.
pub(crate) struct Life {
    pub(crate) clients: Rc<Recorder>,
    pub(crate) context: Rc<Context>,
    pub(crate) bundle: Rc<Bundle>,
}

/// The stores and the clock, which outlive the broker.
pub(crate) struct World {
    pub(crate) ledgers: MemoryStore,
    pub(crate) metadata: Arc<MetadataStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) settings: Settings,
    pub(crate) config: Config,
    epoch: u64,
    life: Option<Life>,
}

impl std::ops::Deref for World {
    type Target = Life;

    fn deref(&self) -> &Life {
        self.life.as_ref().unwrap()
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A world with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        let mut world = Self {
            ledgers: MemoryStore::new(),
            metadata: Arc::new(MetadataStore::new()),
            clock: ManualClock::starting_at(START),
            settings,
            config: Config { max_entries_per_ledger: 7, min_rollover: Duration::ZERO, ..Config::default() },
            epoch: 0,
            life: None,
        };
        world.start().await;
        world
    }

    async fn start(&mut self) {
        self.epoch += 1;
        let context = plerion_managed_log::Context {
            store: self.ledgers.shard(),
            metadata: self.metadata.clone(),
            clock: self.clock.clone(),
            config: Rc::new(self.config.clone()),
            journal_key: 0,
        };
        let state_log = StateLog::open(context, "/bundles/0", Epoch(self.epoch)).await.unwrap();
        let clients = Rc::new(Recorder::default());
        self.life = Some(Life {
            context: Context::new(clients.clone(), self.clock.clone(), Arc::new(self.settings.clone())),
            bundle: Bundle::new(state_log),
            clients,
        });
    }

    /// The process dies and starts anew; of what was not acknowledged to it, `kept` entries of each ledger survive.
    pub(crate) async fn crash(&mut self, kept: usize) {
        self.ledgers.crash(kept);
        self.start().await;
    }

    /// Opens the topic.
    pub(crate) async fn open(&self) -> Rc<Topic> {
        self.try_open().await.unwrap()
    }

    pub(crate) async fn try_open(&self) -> Result<Rc<Topic>, Error> {
        let (context, bundle) = (self.context.clone(), self.bundle.clone());
        Ok(Topic::open(context, bundle, name("persistent"), "/topics/t", OpenMode::Create).await?.0)
    }

    /// Opens the topic of which nothing is kept.
    pub(crate) fn open_non_persistent(&self) -> Rc<Topic> {
        Topic::open_non_persistent(self.context.clone(), name("non-persistent"))
    }

    /// Lets time pass on both clocks.
    pub(crate) async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        tokio::time::sleep(time).await;
        settle().await;
    }

    /// Attaches a producer with its own connection to a topic.
    pub(crate) async fn producer(&self, topic: &Rc<Topic>, name: &str) -> Rc<Producer> {
        topic.attach(producer(1, 1, name)).await.unwrap()
    }

    /// Sends as a connection does: what belongs to no producer any more is dropped and accounted for.
    pub(crate) fn send(&self, producer: &Producer, message: &Outgoing) {
        let bytes = message.payload(&producer.name);
        self.send_bytes(producer, message, &bytes);
    }

    pub(crate) fn send_bytes(&self, producer: &Producer, message: &Outgoing, bytes: &[u8]) {
        if let Some(producer) = self.context.producers.get(producer.key) {
            let reserved = &self.clients.reserved;
            reserved.set(reserved.get() + bytes.len() as i64);
            producer.publish(&message.command(producer.id), bytes);
        }
    }

    /// Publishes messages whose bodies are the texts of these numbers, which are their sequence ids too.
    pub(crate) async fn publish(&self, producer: &Producer, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.send(producer, &Outgoing::new(number));
        }
        settle().await;
    }

    /// Attaches a consumer that takes `permits` messages.
    pub(crate) async fn consumer(&self, topic: &Rc<Topic>, kind: Kind, id: u64, permits: u32) -> Rc<Consumer> {
        let consumer = topic.subscribe(consumer(id, "s", kind)).await.unwrap();
        consumer.answered();
        consumer.flow(permits);
        settle().await;
        consumer
    }
}

fn name(domain: &str) -> TopicName {
    format!("{domain}://public/default/t").parse().unwrap()
}

/// The connection numbered `number`.
pub(crate) fn connection(number: u64) -> ConnectionId {
    ConnectionId { shard: 0, key: ConnectionKey::from(KeyData::from_ffi(number)) }
}

/// A producer that shares the topic: `id` is also the request it comes with.
pub(crate) fn producer(on: u64, id: u64, name: &str) -> NewProducer {
    NewProducer {
        connection: connection(on),
        client: client(on),
        id,
        request_id: id,
        name: name.to_owned(),
        user_provided_name: true,
        epoch: 0,
        access: ProducerAccessMode::Shared,
        topic_epoch: None,
        schema_version: None,
        metadata: Default::default(),
    }
}

/// A consumer with a connection of the same number, of a durable subscription that begins at the first message.
pub(crate) fn consumer(id: u64, subscription: &str, kind: Kind) -> NewConsumer {
    NewConsumer {
        connection: connection(id),
        client: client(id),
        id,
        name: format!("c{id}"),
        subscription: subscription.to_owned(),
        kind,
        priority: 0,
        durable: true,
        start: Start::Earliest,
        key_shared: None,
        epoch: None,
        metadata: Default::default(),
        properties: Default::default(),
        may_create: true,
    }
}

fn client(number: u64) -> ClientFacts {
    ClientFacts {
        address: format!("10.0.0.{number}:6650").into(),
        version: "test".into(),
        protocol_version: 21,
        takes_end_of_topic: true,
        ..ClientFacts::default()
    }
}

/// Runs a test on a shard of its own. Time stands still but for who waits for it; a test that hangs fails.
pub(crate) fn on_shard<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let patience = Duration::from_secs(3_600);
    let test = async { tokio::time::timeout(patience, test).await.expect("the test waits for what does not happen") };
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// Lets the other tasks of the shard run until they wait.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}
