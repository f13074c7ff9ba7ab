//! Producers that come and go.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use plerion_subscription::producers::{self as rules, Access, Promotion};
use plerion_wire::proto;
use rustc_hash::{FxHashMap, FxHasher};
use slotmap::Key as _;
use tokio::task::spawn_local;

use crate::overrides::limit;
use crate::producer::{ClientFacts, Flow, State};
use crate::{ConnectionId, Error, Producer, ProducerKey, ProducerRefusal, Topic};

/// A producer that wants to attach.
#[derive(Clone, Debug)]
pub struct NewProducer {
    /// The connection it is on.
    pub connection: ConnectionId,
    /// What the client says of itself.
    pub client: ClientFacts,
    /// Its id on that connection.
    pub id: u64,
    /// The request to answer when it may publish.
    pub request_id: u64,
    /// Its name.
    pub name: String,
    /// Whether the application chose the name.
    pub user_provided_name: bool,
    /// Counts its reconnections.
    pub epoch: u64,
    /// How it shares the topic.
    pub access: proto::ProducerAccessMode,
    /// The topic epoch it had when it was attached last.
    pub topic_epoch: Option<u64>,
    /// The version of its schema.
    pub schema_version: Option<Bytes>,
    /// What is shown in statistics.
    pub metadata: BTreeMap<String, String>,
}

/// The attached and waiting producers of a topic.
#[derive(Default)]
pub(crate) struct Producers {
    rules: rules::Producers,
    sessions: FxHashMap<ProducerKey, Rc<Producer>>,
}

impl Producers {
    /// No producers, for a topic whose exclusive producers have got to `epoch`.
    pub(crate) fn restore(&mut self, epoch: Option<u64>) {
        self.rules = rules::Producers::new(epoch, 0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Everyone, attached or waiting.
    pub(crate) fn all(&self) -> Vec<Rc<Producer>> {
        let mut all: Vec<_> = self.sessions.values().cloned().collect();
        all.sort_unstable_by_key(|producer| producer.key);
        all
    }
}

fn session(key: ProducerKey) -> rules::ProducerKey {
    rules::ProducerKey(key.data().as_ffi())
}

fn key(session: rules::ProducerKey) -> ProducerKey {
    slotmap::KeyData::from_ffi(session.0).into()
}

/// One number for a connection of any shard. A slot's index takes 32 bits, of which no shard needs the upper ten.
fn connection_number(connection: ConnectionId) -> u64 {
    connection.key.data().as_ffi() ^ (u64::from(connection.shard) << 22)
}

/// The same number for whatever comes from one host: a client that reconnects has another port.
fn client_number(client: &ClientFacts) -> u64 {
    let host = client.address.rsplit_once(':').map_or(&*client.address, |(host, _)| host);
    let mut hasher = FxHasher::default();
    host.hash(&mut hasher);
    hasher.finish()
}

fn access(mode: proto::ProducerAccessMode) -> Access {
    match mode {
        proto::ProducerAccessMode::Shared => Access::Shared,
        proto::ProducerAccessMode::Exclusive => Access::Exclusive,
        proto::ProducerAccessMode::WaitForExclusive => Access::WaitForExclusive,
        proto::ProducerAccessMode::ExclusiveWithFencing => Access::ExclusiveWithFencing,
    }
}

impl Topic {
    /// The attached producers.
    pub fn producers(&self) -> Vec<Rc<Producer>> {
        self.producers.borrow().all()
    }

    /// Attaches a producer, if the rules allow it. One that has to wait for the topic is attached too, and is told when
    /// it may publish.
    ///
    /// # Errors
    /// [`Error::ProducerRefused`], [`Error::Terminated`], [`Error::NotServing`] when the topic cannot be published to.
    pub async fn attach(self: &Rc<Self>, new: NewProducer) -> Result<Rc<Producer>, Error> {
        self.check_publishable()?;
        self.touch();
        let joining = rules::Producer {
            key: rules::ProducerKey(0),
            connection: connection_number(new.connection),
            producer_id: new.id,
            client: client_number(&new.client),
            name: new.name.clone(),
            user_provided_name: new.user_provided_name,
            epoch: new.epoch,
            access: access(new.access),
            topic_epoch: new.topic_epoch,
        };
        let most = limit(self.overrides().max_producers, self.context.settings().topics.max_producers);
        let most = most.unwrap_or(0) as usize;
        let (producer, admission) = {
            let producers = &mut *self.producers.borrow_mut();
            producers.rules.set_max(most);
            let producer = self.context.producers.insert(|key| Rc::new(self.session(key, new)));
            let joining = rules::Producer { key: session(producer.key), ..joining };
            match producers.rules.add(joining) {
                Ok(admission) => {
                    producers.sessions.insert(producer.key, producer.clone());
                    (producer, admission)
                }
                Err(refusal) => {
                    self.context.producers.remove(producer.key);
                    let holder = refusal.check_first().and_then(|holder| producers.sessions.get(&key(holder)));
                    let holder = holder.map(|holder| holder.connection);
                    return Err(Error::ProducerRefused { refusal, holder });
                }
            }
        };
        if !admission.fenced.is_empty() {
            let holder = producer.name.to_string();
            let refusal = rules::Refusal::ExclusiveTaken { holder, fenced: true };
            let why = Error::ProducerRefused { refusal, holder: None };
            admission.fenced.iter().for_each(|gone| self.drop_session(key(*gone), Some(&why)));
        }
        if let Some(old) = admission.replaced {
            self.replace_session(key(old), &producer);
        }
        if let Some(dedup) = self.dedup.borrow_mut().ready() {
            dedup.connected(&producer.name);
        }
        if !admission.ready {
            producer.state.set(State::Waiting);
            return Ok(producer);
        }
        match self.grant(&producer, admission.topic_epoch).await {
            Ok(()) if producer.is_ready() => Ok(producer),
            // The topic was closed, or somebody else has got it, while the term was written.
            Ok(()) => {
                self.check_publishable()?;
                let own = admission.topic_epoch.unwrap_or(0);
                let current = self.producers.borrow().rules.topic_epoch().unwrap_or(own);
                Err(Error::ProducerRefused { refusal: rules::Refusal::EpochMoved { current, own }, holder: None })
            }
            Err(error) => {
                self.detach(&producer, None);
                Err(error)
            }
        }
    }

    fn session(self: &Rc<Self>, key: ProducerKey, new: NewProducer) -> Producer {
        let success = proto::CommandProducerSuccess {
            request_id: new.request_id,
            producer_name: new.name.clone(),
            last_sequence_id: Some(self.dedup.borrow().last_sequence_id(&new.name)),
            // The client in Java reads it without asking whether it is there; no bytes mean no schema.
            schema_version: Some(new.schema_version.unwrap_or_default()),
            topic_epoch: None,
            producer_ready: Some(false),
        };
        Producer {
            key,
            topic: self.clone(),
            connection: new.connection,
            id: new.id,
            name: Arc::from(new.name),
            client: new.client,
            metadata: new.metadata,
            access_mode: new.access,
            connected_since: self.context.clock.wall_ms(),
            state: Cell::new(State::Joining),
            success: RefCell::new(success),
            outstanding: Cell::new(0),
            drained: RefCell::default(),
            published: Flow::default(),
        }
    }

    /// Lets an admitted producer publish, once its term is durable. One that is gone by then stays out, and one that is
    /// gone already leaves the term to who came after it.
    async fn grant(&self, producer: &Rc<Producer>, topic_epoch: Option<u64>) -> Result<(), Error> {
        if producer.state.get() == State::Closed {
            return Ok(());
        }
        if let (Some(epoch), Some(log)) = (topic_epoch, &self.log) {
            log.set_topic_epoch(epoch).await?;
        }
        if producer.state.get() != State::Closed {
            let mut success = producer.success.borrow_mut();
            success.topic_epoch = topic_epoch;
            success.producer_ready = Some(true);
            success.last_sequence_id = Some(self.dedup.borrow().last_sequence_id(&producer.name));
            producer.state.set(State::Ready);
        }
        Ok(())
    }

    /// Takes a producer out, telling its client if there is a reason to tell, and lets in whoever waited for it.
    pub(crate) fn detach(self: &Rc<Self>, producer: &Producer, why: Option<&Error>) {
        self.touch();
        self.drop_session(producer.key, why);
        let promotion = self.producers.borrow_mut().rules.remove(session(producer.key));
        if let Some(promotion) = promotion
            && self.check_publishable().is_ok()
        {
            self.promote(promotion);
        }
    }

    fn promote(self: &Rc<Self>, promotion: Promotion) {
        let Some(next) = self.producers.borrow().sessions.get(&key(promotion.key)).cloned() else { return };
        let topic = self.clone();
        spawn_local(async move {
            match topic.grant(&next, Some(promotion.topic_epoch)).await {
                Ok(()) if next.is_ready() => {
                    topic.context.clients.admit_producer(next.connection, next.key, next.id, next.success());
                }
                // It was told when it was taken out.
                Ok(()) => {}
                Err(error) => {
                    tracing::warn!(topic = %topic.name(), %error, "waiting producer cannot be let in");
                    topic.detach(&next, Some(&error));
                }
            }
        });
    }

    /// Forgets a session whose client has opened `newcomer` in its place. Under the same id on the same connection
    /// there is nothing to tell: the client would take it for the newcomer's end.
    fn replace_session(&self, old: ProducerKey, newcomer: &Producer) {
        let same = self
            .producers
            .borrow()
            .sessions
            .get(&old)
            .is_some_and(|old| (old.connection, old.id) == (newcomer.connection, newcomer.id));
        let why = Error::NotServing(self.name().to_string());
        self.drop_session(old, (!same).then_some(&why));
    }

    /// Forgets a session. Its client is told `why`, if that is given: one that waits gets it as the answer to its
    /// request, one that publishes is closed.
    fn drop_session(&self, key: ProducerKey, why: Option<&Error>) {
        self.context.producers.remove(key);
        let Some(gone) = self.producers.borrow_mut().sessions.remove(&key) else { return };
        let now = self.context.clock.wall_ms();
        if let Some(dedup) = self.dedup.borrow_mut().ready() {
            dedup.left(&gone.name, now);
        }
        let clients = &self.context.clients;
        match (gone.state.replace(State::Closed), why) {
            (State::Ready, Some(_)) => clients.close_producer(gone.connection, key, gone.id),
            (State::Waiting, Some(why)) => {
                let refusal = ProducerRefusal {
                    producer: key,
                    producer_id: gone.id,
                    request_id: gone.success.borrow().request_id,
                    error: why.server_error(),
                    message: &why.to_string(),
                };
                clients.refuse_producer(gone.connection, &refusal);
            }
            _ => {}
        }
    }

    /// Takes every producer out and tells its client why.
    pub(crate) fn detach_producers(&self, why: &Error) {
        for producer in self.producers() {
            self.drop_session(producer.key, Some(why));
        }
        let epoch = self.producers.borrow().rules.topic_epoch();
        self.producers.borrow_mut().restore(epoch);
    }
}

impl Producer {
    /// What the client is told now that it is attached.
    pub fn success(&self) -> proto::CommandProducerSuccess {
        self.success.borrow().clone()
    }

    /// Detaches it once everything it sent has its answer.
    pub async fn close(self: &Rc<Self>) {
        self.drained().await;
        self.topic.detach(self, None);
    }

    /// Detaches it at once: its client is gone.
    pub fn abandon(self: &Rc<Self>) {
        self.topic.detach(self, None);
    }
}
