use std::sync::Arc;
use std::time::Duration;

use plerion_broker::{AckSaves, AllowAll, Broker, Parts, StoreFactory};
use plerion_clock::{SharedClock, SystemClock};
use plerion_config::{LiveSettings, Sources};
use plerion_ledger::disk::sim::{Faults, Machine};
use plerion_ledger::embedded::{Config, EmbeddedStore};
use plerion_metadata::SharedMetadataStore;
use rand::Rng;
use rand::rngs::SmallRng;

use super::metadata::Metadata;
use super::{Fate, LastWords, Node, SETTINGS, namespace};

/// How long a broker whose disk is dead may take to end.
const END: Duration = Duration::from_secs(20);

/// A broker in this process, on a machine whose disk keeps what was synced, and of the rest what chance keeps.
#[derive(Default)]
pub(crate) struct PowerCut {
    pub(crate) machine: Machine,
    metadata: Metadata,
    alive: Option<Alive>,
    config: Option<Config>,
    lies: bool,
    /// `KEY=VALUE`, beyond the usual settings.
    pub(crate) setting: Option<&'static str>,
}

pub(crate) struct Alive {
    pub(crate) broker: Broker,
    pub(crate) ledgers: Arc<EmbeddedStore>,
    pub(crate) metadata: SharedMetadataStore,
    clock: SharedClock,
    ack_saves: Vec<Arc<AckSaves>>,
}

impl PowerCut {
    /// One whose ledgers are kept as `config` says.
    pub(crate) fn with_ledgers(config: Config) -> Self {
        Self { config: Some(config), ..Self::default() }
    }

    /// One whose disk answers syncs with success and does nothing.
    pub(crate) fn lying() -> Self {
        Self { lies: true, ..Self::default() }
    }

    /// The broker that runs.
    pub(crate) fn alive(&self) -> &Alive {
        self.alive.as_ref().expect("it was started")
    }

    /// Starts a broker, which fails only if the machine dies.
    pub(crate) async fn boot(&mut self, shards: u32) -> Option<u16> {
        self.machine.set_faults(Faults { lying_syncs: self.lies, ..Faults::default() });
        let clock = SystemClock::shared();
        let config = self.config.clone().unwrap_or_else(small_segments);
        let ledgers = match EmbeddedStore::open(config, self.machine.disk(), clock.clone()) {
            Ok(ledgers) => ledgers,
            Err(_) if self.machine.is_dead() => return None,
            Err(error) => panic!("the ledgers do not open: {error}"),
        };
        let metadata: SharedMetadataStore = Arc::new(self.metadata.session(&self.machine));
        let shards = format!("numIOThreads={shards}");
        let settings = SETTINGS.iter().copied().chain([shards.as_str()]).chain(self.setting);
        let sources = settings.fold(Sources::new(), |sources, text| sources.argument(text).expect("KEY=VALUE"));
        let (settings, _) = sources.resolve().expect("valid settings");
        let store: StoreFactory = {
            let ledgers = ledgers.clone();
            Arc::new(move || ledgers.shard())
        };
        let parts = Parts {
            settings: Arc::new(LiveSettings::new(settings)),
            clock: clock.clone(),
            metadata: metadata.clone(),
            store,
            authorizer: Arc::new(AllowAll),
            web_port: None,
        };
        match Broker::start(parts).await {
            Ok(broker) => {
                let port = broker.port();
                let ack_saves = broker.handle().ack_saves().await.expect("it runs");
                self.alive = Some(Alive { broker, ledgers, metadata, clock, ack_saves });
                port
            }
            Err(_) if self.machine.is_dead() => None,
            Err(error) => panic!("the broker does not start: {error}"),
        }
    }

    /// Ends the broker and starts the machine again.
    pub(crate) async fn cut(&mut self, rng: &mut SmallRng) -> Option<LastWords> {
        let last_words = self.alive.as_ref().map(Alive::last_words);
        self.machine.die();
        if let Some(alive) = self.alive.take() {
            let end = tokio::time::timeout(END, alive.broker.stop()).await;
            end.expect("a broker whose disk is dead ends within 20 s");
        }
        self.machine.reboot(rng);
        self.metadata.cut(rng);
        last_words
    }
}

impl Alive {
    fn last_words(&self) -> LastWords {
        let now = self.clock.monotonic();
        let since = self.ack_saves.iter().filter_map(|shard| shard.unsaved_since()).min();
        let slowest_save = self.ack_saves.iter().map(|shard| shard.slowest()).max().unwrap_or_default();
        LastWords { unsaved: since.map(|since| now.saturating_sub(since)), slowest_save }
    }
}

/// Many segments, sealed, reclaimed and rewritten within a short life.
fn small_segments() -> Config {
    Config {
        segment_bytes: 1 << 20,
        first_segment_bytes: 256 << 10,
        cache_bytes: 1 << 20,
        index_cache_bytes: 64 << 10,
        reserve_bytes: 64 << 10,
        rewrite_after: Duration::from_millis(50),
        upkeep_interval: Duration::from_millis(20),
        ..Config::default()
    }
}

impl Node for PowerCut {
    const MAY_REFUSE: bool = true;

    async fn prepare(&mut self) {
        self.boot(1).await.expect("nothing ails the machine");
        namespace::make_deduplicating(&self.alive().metadata).await;
        let alive = self.alive.take().expect("it was started");
        alive.broker.stop().await;
    }

    async fn start(&mut self, rng: &mut SmallRng, fate: Fate) -> Option<u16> {
        match fate {
            Fate::DieYoung => self.machine.die_after(rng.random_range(0..80)),
            Fate::Die if rng.random_bool(0.7) => self.machine.die_after(rng.random_range(20..3000)),
            Fate::Die | Fate::Live => {}
        }
        self.boot(rng.random_range(1..=3)).await
    }

    async fn wait(&mut self, after: Duration) {
        let dead = async {
            while !self.machine.is_dead() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(after, dead).await;
    }

    async fn kill(&mut self, rng: &mut SmallRng) -> Option<LastWords> {
        self.cut(rng).await
    }
}
