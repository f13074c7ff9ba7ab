//! An attached consumer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plerion_subscription::Position;
use plerion_subscription::dispatcher::{self, Dispatcher};
use plerion_wire::command::{Ack, MessageId, Redeliver};
use plerion_wire::{proto, version};
use slotmap::Key as _;

use crate::producer::{ClientFacts, Flow};
use crate::{ConnectionId, ConsumerKey, Context, Error, Subscription, nonpersistent};

/// A consumer attached to a subscription.
pub struct Consumer {
    /// Its key on the topic's shard.
    pub key: ConsumerKey,
    /// The subscription.
    pub subscription: Seat,
    pub(crate) context: Rc<Context>,
    /// The connection it is on.
    pub connection: ConnectionId,
    /// Its id on that connection.
    pub id: u64,
    /// Its name.
    pub name: Arc<str>,
    /// The lower, the more preferred.
    pub priority: i32,
    /// What the client says of itself; shown in statistics.
    pub client: ClientFacts,
    /// The metadata the client gave; shown in statistics.
    pub metadata: BTreeMap<String, String>,
    /// When it attached, in ms since the epoch.
    pub connected_since: u64,
    /// What it was sent.
    pub delivered: Flow,
    /// When it last acknowledged something, in ms since the epoch; 0 for never.
    pub last_acked: Cell<u64>,
    /// When it was last sent something, in ms since the epoch; 0 for never.
    pub last_consumed: Cell<u64>,
    /// How often it gave permits.
    pub flows: Cell<u64>,
    pub(crate) epoch: Cell<Option<u64>>,
    /// Whether its client knows that it is attached; until then it is told nothing else.
    pub(crate) known: Cell<bool>,
    /// What it is to be told of being the active one as soon as it is known.
    pub(crate) untold: Cell<Option<bool>>,
    /// It knows that a terminated topic has no more for it.
    pub(crate) told_end: Cell<bool>,
}

/// The subscription a consumer is attached to.
#[derive(Clone)]
pub enum Seat {
    /// Of a persistent topic.
    Persistent(Rc<Subscription>),
    /// Of a non-persistent topic.
    NonPersistent(Rc<nonpersistent::Subscription>),
}

impl Seat {
    /// The subscription's name.
    pub fn name(&self) -> &Arc<str> {
        match self {
            Self::Persistent(subscription) => &subscription.name,
            Self::NonPersistent(subscription) => &subscription.name,
        }
    }

    /// The subscription's type.
    pub fn kind(&self) -> dispatcher::Kind {
        self.dispatcher().borrow().kind()
    }

    fn dispatcher(&self) -> &RefCell<Dispatcher> {
        match self {
            Self::Persistent(subscription) => &subscription.dispatcher,
            Self::NonPersistent(subscription) => &subscription.dispatcher,
        }
    }

    fn pump(&self) {
        if let Self::Persistent(subscription) = self {
            subscription.pump();
        }
    }
}

/// How long a client that [registers late](ClientFacts::registers_late) takes to see what comes for its consumer.
const REGISTRATION: Duration = Duration::from_millis(20);

/// A session's key as the rules of dispatch know it.
pub(crate) fn session(key: ConsumerKey) -> dispatcher::ConsumerKey {
    dispatcher::ConsumerKey(key.data().as_ffi())
}

impl Consumer {
    /// Its session as the rules of dispatch know it.
    pub fn session(&self) -> dispatcher::ConsumerKey {
        session(self.key)
    }

    /// Takes permits for `messages` more messages.
    pub fn flow(&self, messages: u32) {
        self.flows.set(self.flows.get() + 1);
        if self.subscription.dispatcher().borrow_mut().flow(self.session(), messages) {
            self.subscription.pump();
        }
    }

    /// Takes acknowledgements; one that wants an answer gets it when they are durable.
    pub fn acknowledge(&self, ack: &Ack<'_>) {
        match &self.subscription {
            Seat::Persistent(subscription) => {
                self.last_acked.set(subscription.context.clock.wall_ms());
                subscription.acknowledge(self, ack);
            }
            Seat::NonPersistent(subscription) => subscription.acknowledge(self, ack),
        }
    }

    /// Gives entries again that the client could not process, or all it has.
    pub fn redeliver(&self, request: &Redeliver<'_>) {
        if let Some(epoch) = request.consumer_epoch {
            self.epoch.set(Some(self.epoch.get().unwrap_or(0).max(epoch)));
        }
        let ids: Vec<Position> = request.message_ids.iter().map(position).collect();
        let ids = (!ids.is_empty()).then_some(&ids[..]);
        let mut dispatcher = self.subscription.dispatcher().borrow_mut();
        let again = dispatcher.redeliver(self.session(), ids, request.consumer_epoch);
        drop(dispatcher);
        if again {
            self.subscription.pump();
        }
    }

    /// Notes whether its connection takes messages.
    pub fn writable(&self, writable: bool) {
        if self.subscription.dispatcher().borrow_mut().set_writable(self.session(), writable) && writable {
            self.subscription.pump();
        }
    }

    /// Notes that its client knows that it is attached. Some clients drop what comes before the answer to SUBSCRIBE.
    pub fn answered(self: &Rc<Self>) {
        if !self.client.registers_late {
            return self.begin();
        }
        let consumer = self.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(REGISTRATION).await;
            consumer.begin();
        });
    }

    fn begin(&self) {
        self.known.set(true);
        self.writable(true);
        if let Some(is_active) = self.untold.take() {
            self.announce_active(is_active);
        }
        if let Seat::Persistent(subscription) = &self.subscription {
            subscription.tell_end();
        }
    }

    /// Tells the client whether it is the active consumer, if it can be told.
    pub(crate) fn announce_active(&self, is_active: bool) {
        if !version::supports_active_consumer_change(self.client.protocol_version) {
            return;
        }
        if !self.known.get() {
            return self.untold.set(Some(is_active));
        }
        let change = proto::CommandActiveConsumerChange { consumer_id: self.id, is_active: Some(is_active) };
        self.context.clients.command(self.connection, change.into());
    }

    /// Its figures as the rules of dispatch know them.
    pub fn figures(&self) -> Option<dispatcher::Stats> {
        self.subscription.dispatcher().borrow().consumer(self.session())
    }

    /// Detaches it; what it has not acknowledged goes to others.
    pub fn close(&self) {
        match &self.subscription {
            Seat::Persistent(subscription) => subscription.remove(self),
            Seat::NonPersistent(subscription) => subscription.remove(self),
        }
    }

    /// Ends the subscription, for good.
    ///
    /// # Errors
    /// [`Error::SubscriptionInUse`] while others are attached, unless `force` detaches them.
    pub async fn unsubscribe(&self, force: bool) -> Result<(), Error> {
        let attached = match &self.subscription {
            Seat::Persistent(subscription) => subscription.consumer_count(),
            Seat::NonPersistent(subscription) => subscription.consumer_count(),
        };
        if attached > 1 && !force {
            return Err(Error::SubscriptionInUse);
        }
        // Its client knows, and would take more words for a reason to come back.
        match &self.subscription {
            Seat::Persistent(subscription) => subscription.end(Some(self.key)).await,
            Seat::NonPersistent(subscription) => {
                subscription.end(Some(self.key));
                Ok(())
            }
        }
    }
}

/// A message id's place in the log.
pub(crate) fn position(id: MessageId<'_>) -> Position {
    Position::new(id.ledger_id.cast_signed(), id.entry_id.cast_signed())
}
