//! A thread that owns connections and bundles.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plerion_clock::SharedClock;
use plerion_config::Settings;
use plerion_ledger::LedgerStore;
use plerion_topic::{ConnectionId, Context};
use plerion_wire::frame;
use tokio::sync::oneshot;

use crate::connection::reader::ReadBuffer;
use crate::connection::{handshake, hot};
use crate::core::Core;
use crate::mesh::{Inbox, Message};
use crate::metrics::ShardCounters;
use crate::registry::Registry;
use crate::switchboard::Switchboard;

/// A shard: some of the connections, and some of the bundles with all their topics. Everything here happens on one
/// thread.
pub(crate) struct Shard {
    pub(crate) id: u16,
    pub(crate) core: Arc<Core>,
    pub(crate) switchboard: Rc<Switchboard>,
    pub(crate) context: Rc<Context>,
    pub(crate) registry: Registry,
    pub(crate) store: Rc<dyn LedgerStore>,
    pub(crate) read_buffer: ReadBuffer,
    settings: RefCell<Arc<Settings>>,
    frame_limit: usize,
}

/// The shard that was to do something has stopped.
#[derive(Debug, thiserror::Error)]
#[error("the broker is stopping")]
pub(crate) struct Stopped;

impl Shard {
    pub(crate) fn new(id: u16, core: Arc<Core>, store: Rc<dyn LedgerStore>) -> Rc<Self> {
        let settings = core.settings.current();
        let switchboard = Switchboard::new(id, core.doors.clone(), core.publishing.clone());
        let context = Context::new(switchboard.clone(), core.clock.clone(), settings.clone());
        let max_message_size = usize::try_from(settings.network.max_message_size).unwrap_or(usize::MAX);
        Rc::new(Self {
            id,
            switchboard,
            context,
            registry: Registry::default(),
            store,
            read_buffer: ReadBuffer::default(),
            settings: RefCell::new(settings),
            frame_limit: frame::limit(max_message_size),
            core,
        })
    }

    /// Handles what other shards send, until the broker stops.
    pub(crate) async fn run(self: Rc<Self>, mut inbox: Inbox) {
        let mesh = tokio::task::spawn_local({
            let switchboard = self.switchboard.clone();
            async move { switchboard.mesh.run().await }
        });
        let upkeep = tokio::task::spawn_local(crate::upkeep::run(self.clone()));
        'serving: while let Some(batch) = inbox.recv().await {
            for message in batch {
                if matches!(message, Message::Stop) {
                    break 'serving;
                }
                self.handle(message);
            }
        }
        mesh.abort();
        upkeep.abort();
    }

    fn handle(self: &Rc<Self>, message: Message) {
        match message {
            Message::Frame { from, to, frame } => hot::arrived(self, from, to, &frame),
            Message::Writable { consumer } => {
                if let Some(consumer) = self.context.consumers.get(consumer) {
                    consumer.writable(true);
                }
            }
            Message::Write(write) => self.switchboard.accept(write),
            Message::Call(call) => call(self),
            Message::Stop => {}
        }
    }

    /// Has shard `home` run `work`, and waits for its result.
    ///
    /// # Errors
    /// [`Stopped`] when the broker stops meanwhile.
    pub(crate) async fn on<F, T>(
        self: &Rc<Self>,
        home: u16,
        work: impl FnOnce(Rc<Self>) -> F + Send + 'static,
    ) -> Result<T, Stopped>
    where
        F: Future<Output = T> + 'static,
        T: Send + 'static,
    {
        self.on_then(home, work, |_, outcome| outcome).await
    }

    /// Has shard `home` run `work`, and this one `then` with its outcome, before it handles anything that `home` sent it
    /// after the work was done. Whoever waits for the result of [`on`](Self::on) goes on some time later only.
    ///
    /// # Errors
    /// [`Stopped`] when the broker stops meanwhile.
    pub(crate) async fn on_then<F, T, R>(
        self: &Rc<Self>,
        home: u16,
        work: impl FnOnce(Rc<Self>) -> F + Send + 'static,
        then: impl FnOnce(&Rc<Self>, T) -> R + Send + 'static,
    ) -> Result<R, Stopped>
    where
        F: Future<Output = T> + 'static,
        T: Send + 'static,
        R: Send + 'static,
    {
        if home == self.id {
            let outcome = work(self.clone()).await;
            return Ok(then(self, outcome));
        }
        let (done, result) = oneshot::channel();
        let asker = self.id;
        let call = move |shard: &Rc<Self>| {
            let shard = shard.clone();
            tokio::task::spawn_local(async move {
                let outcome = work(shard.clone()).await;
                // The same way as what the work had for the asker's clients, and so after it.
                shard.post(asker, move |asker| {
                    // Whoever asked may be gone by now.
                    let _ = done.send(then(asker, outcome));
                });
            });
        };
        self.switchboard.mesh.post(home, Message::Call(Box::new(call)));
        result.await.map_err(|_| Stopped)
    }

    /// Has shard `home` run `work`, at once if it is this one.
    pub(crate) fn post(self: &Rc<Self>, home: u16, work: impl FnOnce(&Rc<Self>) + Send + 'static) {
        if home == self.id {
            work(self);
        } else {
            self.switchboard.mesh.post(home, Message::Call(Box::new(work)));
        }
    }

    /// Makes an attempt for the client of `connection`. If another one stands in its way, that one is asked first
    /// whether it is still alive; the attempt is made again if not.
    pub(crate) async fn unless_held<T, F>(
        self: &Rc<Self>,
        connection: ConnectionId,
        attempt: impl Fn() -> F,
    ) -> Result<T, plerion_topic::Error>
    where
        F: Future<Output = Result<T, plerion_topic::Error>>,
    {
        let outcome = attempt().await;
        match outcome.as_ref().err().and_then(plerion_topic::Error::holder) {
            Some(holder) if holder != connection && !self.is_alive(holder).await => attempt().await,
            _ => outcome,
        }
    }

    /// Whether the client of `connection` answers a ping in time; one that does not is disconnected.
    pub(crate) async fn is_alive(self: &Rc<Self>, connection: ConnectionId) -> bool {
        let Some(patience) = self.settings().network.liveness_check_timeout else { return true };
        let (done, answer) = oneshot::channel();
        let asker = self.id;
        self.post(connection.shard, move |shard| {
            let shard = shard.clone();
            tokio::task::spawn_local(async move {
                let alive = match shard.switchboard.connection(connection.key) {
                    Some(connection) => {
                        let alive = handshake::is_alive(&connection, patience).await;
                        if !alive {
                            connection.close();
                            connection.ended().await;
                        }
                        alive
                    }
                    None => false,
                };
                // The same way as what the connection's end left to do, and so after it.
                shard.post(asker, move |_| {
                    let _ = done.send(alive);
                });
            });
        });
        answer.await.unwrap_or(false)
    }

    pub(crate) fn clock(&self) -> &SharedClock {
        &self.core.clock
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.borrow().clone()
    }

    /// Takes over settings that have changed.
    pub(crate) fn refresh_settings(&self) {
        let current = self.core.settings.current();
        self.context.settings.replace(current.clone());
        self.settings.replace(current);
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        self.settings.borrow().network.keep_alive_interval
    }

    pub(crate) fn frame_limit(&self) -> usize {
        self.frame_limit
    }

    pub(crate) fn counters(&self) -> &ShardCounters {
        &self.core.counters[usize::from(self.id)]
    }
}
