//! Starting and stopping a broker.

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use plerion_clock::SharedClock;
use plerion_config::{LiveSettings, Scheme};
use plerion_ledger::{Epoch, LedgerStore};
use plerion_metadata::{Expect, PutOptions, SharedMetadataStore};
use plerion_resources::Resources;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::addresses::Addresses;
use crate::authorizer::Authorizer;
use crate::budget::PublishBudget;
use crate::connection::Connection;
use crate::core::{Core, NameGenerator};
use crate::handle::Handle;
use crate::mesh::{Doors, Inbox};
use crate::metrics::ShardCounters;
use crate::namespaces::Namespaces;
use crate::shard::Shard;
use crate::sweep::Sweep;
use crate::watchers::TopicChanges;

/// Where the number of starts is kept; each start is a term of its own.
const STARTS: &str = "/plerion/starts";

/// Makes the ledger store of a shard, on the shard's own thread.
pub type StoreFactory = Arc<dyn Fn() -> Rc<dyn LedgerStore> + Send + Sync>;

/// What a broker is made of.
pub struct Parts {
    /// The settings, as they are and as they will be changed.
    pub settings: Arc<LiveSettings>,
    /// The time.
    pub clock: SharedClock,
    /// Where tenants, namespaces and the rows of topics are.
    pub metadata: SharedMetadataStore,
    /// Where entries are.
    pub store: StoreFactory,
    /// Who decides what clients may do.
    pub authorizer: Arc<dyn Authorizer>,
    /// The port the REST interface was bound to, to be told to clients.
    pub web_port: Option<u16>,
}

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port cannot be opened.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address asked for.
        address: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The system refuses a thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The metadata store does not answer.
    #[error(transparent)]
    Metadata(#[from] plerion_metadata::Error),
    /// What a cluster needs cannot be made.
    #[error(transparent)]
    Resources(#[from] plerion_resources::Error),
}

/// A broker that serves.
pub struct Broker {
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
    accepting: Vec<tokio::task::JoinHandle<()>>,
    port: Option<u16>,
    sweep: Option<Sweep>,
}

impl Broker {
    /// Starts a broker; when it returns its ports are open. Must be called within a tokio runtime that outlives it.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(parts: Parts) -> Result<Self, StartError> {
        Self::begin(parts, false).await
    }

    /// As [`start`](Self::start), for a broker that has both stores to itself: ledgers that a crash left behind and that
    /// nobody names are deleted while it serves.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_alone(parts: Parts) -> Result<Self, StartError> {
        Self::begin(parts, true).await
    }

    async fn begin(parts: Parts, alone: bool) -> Result<Self, StartError> {
        let settings = parts.settings.current();
        let mut listeners = Vec::new();
        for bind in settings.network.binds().into_iter().filter(|bind| bind.scheme == Scheme::Pulsar) {
            let address = format!("{}:{}", bind.host.trim_matches(['[', ']']), bind.port);
            let listener = listen(&bind.host, bind.port);
            listeners.push(listener.map_err(|cause| StartError::Listen { address, cause })?);
        }
        let port = listeners.first().and_then(|listener| listener.local_addr().ok()).map(|address| address.port());
        let resources = Resources::new(&parts.metadata);
        let addresses = Addresses::new(settings.clone(), port, parts.web_port);
        let cluster = &settings.cluster.name;
        crate::bootstrap::of(&settings, &addresses).run(&resources).await?;
        let start = next_start(&parts.metadata).await?;

        let shards = settings.network.shards.map_or_else(default_shards, |shards| shards as usize);
        let (doors, inboxes) = Doors::open(shards);
        let budget =
            settings.network.publish_buffer.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let core = Arc::new(Core {
            namespaces: Namespaces::new(resources.clone(), parts.settings.clone()),
            names: NameGenerator::new(cluster, start),
            topic_changes: TopicChanges::new(doors.clone()),
            publishing: Arc::new(PublishBudget::new(budget)),
            counters: (0..shards).map(|_| Arc::new(ShardCounters::default())).collect(),
            lookups: tokio::sync::Semaphore::new(settings.network.max_lookups as usize),
            epoch: Epoch(start),
            settings: parts.settings,
            clock: parts.clock,
            metadata: parts.metadata,
            authorizer: parts.authorizer,
            resources,
            addresses,
            doors,
        });
        core.follow_policies().await?;
        // Ledgers beside metadata that are new belong to something else, which somebody may still want.
        let sweep = match alone && start > 1 {
            true => Some(Sweep::begin(core.clone(), parts.store.clone()).await?),
            false => None,
        };
        let mut threads = Vec::new();
        for (number, inbox) in inboxes.into_iter().enumerate() {
            let (core, store) = (core.clone(), parts.store.clone());
            let id = u16::try_from(number).unwrap_or(u16::MAX);
            let run = move || run_shard(id, core, &store, inbox);
            threads.push(
                std::thread::Builder::new().name(format!("shard-{number}")).spawn(run).map_err(StartError::Thread)?,
            );
        }
        let mut accepting = Vec::new();
        for listener in listeners {
            let listener = tokio::net::TcpListener::from_std(listener)
                .map_err(|cause| StartError::Listen { address: String::new(), cause })?;
            accepting.push(tokio::spawn(accept(core.clone(), listener)));
        }
        Ok(Self { core, threads, accepting, port, sweep })
    }

    /// The port of the binary protocol that was really opened.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The broker as its administrators use it.
    pub fn handle(&self) -> Handle {
        Handle::new(self.core.clone())
    }

    /// Stops accepting clients, closes every topic so that nothing is to be recovered, and ends the threads.
    pub async fn stop(self) {
        for accepting in &self.accepting {
            accepting.abort();
        }
        let mut closing = Vec::new();
        for shard in 0..self.core.doors.count() {
            let (done, closed) = oneshot::channel();
            self.core.doors.call(shard, move |shard| {
                let shard = shard.clone();
                tokio::task::spawn_local(async move {
                    shard.close_all().await;
                    for connection in shard.switchboard.all() {
                        connection.close_after_writing();
                    }
                    let _ = done.send(());
                });
            });
            closing.push(closed);
        }
        for closed in closing {
            let _ = closed.await;
        }
        self.core.doors.stop();
        let threads: Vec<_> = self.threads.into_iter().chain(self.sweep.map(Sweep::end)).collect();
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                let _ = thread.join();
            }
        });
        let _ = joined.await;
    }
}

/// One shard for every two processors: the other half is left to the journals, the kernel and the neighbours.
fn default_shards() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| (processors.get() / 2).max(1))
}

/// The number of this start, which no other start of this cluster has.
async fn next_start(metadata: &SharedMetadataStore) -> Result<u64, plerion_metadata::Error> {
    loop {
        let row = metadata.get(STARTS).await?;
        let expect = row.as_ref().map_or(Expect::Absent, |row| Expect::Version(row.stat.version));
        let before = row.and_then(|row| std::str::from_utf8(&row.value).ok()?.parse::<u64>().ok()).unwrap_or(0);
        let next = before + 1;
        match metadata.put(STARTS, next.to_string().into(), expect, PutOptions::PERSISTENT).await {
            Ok(_) => return Ok(next),
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error),
        }
    }
}

fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in std::net::ToSocketAddrs::to_socket_addrs(&(host, port))? {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        match socket.bind(&address.into()).and_then(|()| socket.listen(4096)) {
            Ok(()) => return Ok(socket.into()),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn run_shard(id: u16, core: Arc<Core>, store: &StoreFactory, inbox: Inbox) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "a shard cannot start"),
    };
    let local = LocalSet::new();
    local.block_on(&runtime, async move {
        let shard = Shard::new(id, core, store());
        shard.run(inbox).await;
    });
}

/// Hands connections to the shards in turn.
async fn accept(core: Arc<Core>, listener: tokio::net::TcpListener) {
    let mut next = 0;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file handles, most likely: some connection will end.
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let open: usize = core.counters.iter().map(|counters| counters.open_connections()).sum();
        if core.settings.current().network.max_connections.is_some_and(|most| open >= most as usize) {
            core.counters[0].connection_refused();
            continue;
        }
        let Ok(stream) = stream.into_std() else { continue };
        core.doors.call(next, move |shard| match tokio::net::TcpStream::from_std(stream) {
            Ok(stream) => {
                tokio::task::spawn_local(Connection::serve(shard.clone(), stream));
            }
            Err(error) => tracing::warn!(%error, "connection not served"),
        });
        next = (next + 1) % core.doors.count();
    }
}
