//! An attached producer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plerion_wire::proto;

use crate::{ConnectionId, Outstanding, ProducerKey, Topic};

/// A producer attached to a topic.
pub struct Producer {
    /// Its key on the topic's shard.
    pub key: ProducerKey,
    /// The topic.
    pub topic: Rc<Topic>,
    /// The connection it is on.
    pub connection: ConnectionId,
    /// Its id on that connection.
    pub id: u64,
    /// Its name: unique among the topic's attached producers.
    pub name: Arc<str>,
    /// What the client says of itself; shown in statistics.
    pub client: ClientFacts,
    /// The metadata the client gave; shown in statistics.
    pub metadata: BTreeMap<String, String>,
    /// How it shares the topic.
    pub access_mode: proto::ProducerAccessMode,
    /// When it attached, in ms since the epoch.
    pub connected_since: u64,
    pub(crate) state: Cell<State>,
    /// What its client is told, now or once it may publish.
    pub(crate) success: RefCell<proto::CommandProducerSuccess>,
    /// SENDs that have no answer yet.
    pub(crate) outstanding: Cell<usize>,
    pub(crate) drained: RefCell<Vec<tokio::sync::oneshot::Sender<()>>>,
    /// What it has published.
    pub published: Flow,
}

/// What a client says of itself.
#[derive(Clone, Debug, Default)]
pub struct ClientFacts {
    /// `ip:port` of the client.
    pub address: Arc<str>,
    /// `client_version` of CONNECT.
    pub version: Arc<str>,
    /// The protocol version in force.
    pub protocol_version: i32,
    /// Whether it takes REACHED_END_OF_TOPIC; some clients close the connection on it.
    pub takes_end_of_topic: bool,
    /// Whether it sees what comes for a consumer only some time after the answer to SUBSCRIBE.
    pub registers_late: bool,
    /// What is on its way to it.
    pub outstanding: Arc<Outstanding>,
}

/// Messages and bytes that passed.
#[derive(Debug, Default)]
pub struct Flow {
    /// Messages; a batch counts as its messages.
    pub messages: Cell<u64>,
    /// Bytes of entries.
    pub bytes: Cell<u64>,
    /// Entries.
    pub entries: Cell<u64>,
    /// What the last sample found: messages and bytes then, messages/s and bytes/s before.
    sampled: Cell<Sample>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    messages: u64,
    bytes: u64,
    rate: f64,
    throughput: f64,
}

impl Flow {
    /// Messages/s and bytes/s between the last two samples.
    pub fn rate(&self) -> (f64, f64) {
        let sampled = self.sampled.get();
        (sampled.rate, sampled.throughput)
    }

    /// Bytes per message.
    pub fn average(&self) -> f64 {
        let messages = self.messages.get();
        if messages == 0 { 0.0 } else { self.bytes.get() as f64 / messages as f64 }
    }

    /// Takes a sample, `elapsed` after the last one.
    pub fn sample(&self, elapsed: Duration) {
        let (messages, bytes) = (self.messages.get(), self.bytes.get());
        let before = self.sampled.get();
        let seconds = elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        self.sampled.set(Sample {
            messages,
            bytes,
            rate: messages.wrapping_sub(before.messages) as f64 / seconds,
            throughput: bytes.wrapping_sub(before.bytes) as f64 / seconds,
        });
    }

    pub(crate) fn add(&self, messages: u64, bytes: u64) {
        self.messages.set(self.messages.get().wrapping_add(messages));
        self.bytes.set(self.bytes.get().wrapping_add(bytes));
        self.entries.set(self.entries.get().wrapping_add(1));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Is being let in; whoever attaches it tells its client the outcome.
    Joining,
    /// Waits for exclusive access; its client was told so, and waits for the outcome.
    Waiting,
    /// May publish.
    Ready,
    /// Gone; what it still sends is refused.
    Closed,
}

impl Producer {
    /// Whether it may publish: it is attached and has the access it asked for.
    pub fn is_ready(&self) -> bool {
        self.state.get() == State::Ready
    }

    /// Resolves when every SEND has its answer.
    pub(crate) async fn drained(&self) {
        if self.outstanding.get() == 0 {
            return;
        }
        let (done, wait) = tokio::sync::oneshot::channel();
        self.drained.borrow_mut().push(done);
        let _ = wait.await;
    }

    pub(crate) fn answered(&self) {
        let left = self.outstanding.get().saturating_sub(1);
        self.outstanding.set(left);
        if left == 0 {
            for waiter in self.drained.take() {
                let _ = waiter.send(());
            }
        }
    }
}
