//! Consumers that come.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use plerion_managed_log::{ManagedLog, Properties};
use plerion_subscription::dispatcher::{self, KeyShared, Kind, Refusal};
use plerion_subscription::{Cursor, Layout, Position};
use slotmap::KeyData;

use crate::consumer::{Seat, session};
use crate::overrides::limit;
use crate::producer::{ClientFacts, Flow};
use crate::subscription::Parts;
use crate::{ConnectionId, Consumer, ConsumerKey, Error, Subscription, Topic, facts, nonpersistent};

/// A consumer that wants to attach.
#[derive(Clone, Debug)]
pub struct NewConsumer {
    /// The connection it is on.
    pub connection: ConnectionId,
    /// What the client says of itself.
    pub client: ClientFacts,
    /// Its id on that connection.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The subscription's name.
    pub subscription: String,
    /// The type it subscribes with.
    pub kind: Kind,
    /// The lower, the more preferred.
    pub priority: i32,
    /// Whether the subscription is to survive it.
    pub durable: bool,
    /// Where the subscription begins if it is made now.
    pub start: Start,
    /// How it wants its keys.
    pub key_shared: Option<KeyShared>,
    /// The epoch it announced.
    pub epoch: Option<u64>,
    /// What is shown in statistics.
    pub metadata: BTreeMap<String, String>,
    /// What the subscription is made with.
    pub properties: Properties,
    /// Whether the subscription may be made now.
    pub may_create: bool,
}

/// Where a new subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// After the last message.
    Latest,
    /// At the first message.
    Earliest,
    /// At this entry, or the next one that is there.
    At(Position),
    /// At the first message published at this time, in ms since the epoch, or later.
    Published(u64),
}

impl Topic {
    /// Attaches a consumer, if the rules allow it, and makes its subscription where it is not there.
    ///
    /// # Errors
    /// [`Error::ConsumerRefused`], [`Error::NoSubscription`], [`Error::SubscriptionFenced`], [`Error::NotServing`], or
    /// what the log says.
    pub async fn subscribe(self: &Rc<Self>, new: NewConsumer) -> Result<Rc<Consumer>, Error> {
        let _turn = self.joining.lock().await;
        self.check_serving()?;
        self.touch();
        if let Some(most) = limit(self.overrides().max_consumers, self.context.settings().topics.max_consumers)
            && self.consumer_count() >= most as usize
        {
            return Err(Error::TooMany("Topic reached max consumers limit".into()));
        }
        match self.log.clone() {
            Some(log) => {
                let subscription = self.obtain(&log, &new).await?;
                // The topic may have been closed meanwhile.
                self.check_serving()?;
                self.seat(new, Seat::Persistent(subscription))
            }
            None => {
                let name: Arc<str> = new.subscription.as_str().into();
                let kind = new.kind;
                let subscription = self
                    .broadcasts
                    .borrow_mut()
                    .entry(name.clone())
                    .or_insert_with(|| nonpersistent::Subscription::new(self, name, kind, new.durable))
                    .clone();
                self.seat(new, Seat::NonPersistent(subscription))
            }
        }
    }

    /// Makes a durable subscription without a consumer.
    ///
    /// # Errors
    /// [`Error::SubscriptionExists`], [`Error::NotAllowed`] for a non-persistent topic, or what the log says.
    pub async fn create_subscription(
        self: &Rc<Self>,
        name: &str,
        start: Start,
        properties: Properties,
    ) -> Result<Rc<Subscription>, Error> {
        let _turn = self.joining.lock().await;
        self.check_serving()?;
        let Some(log) = self.log.clone() else {
            return Err(Error::NotAllowed("a non-persistent topic keeps no subscriptions".into()));
        };
        if self.subscription(name).is_some() {
            return Err(Error::SubscriptionExists(name.to_owned()));
        }
        self.make(&log, name, true, start, properties, Kind::Exclusive).await
    }

    /// The subscription `new` asks for, made if need be.
    async fn obtain(self: &Rc<Self>, log: &ManagedLog, new: &NewConsumer) -> Result<Rc<Subscription>, Error> {
        if let Some(subscription) = self.subscription(&new.subscription) {
            return if subscription.is_fenced() { Err(Error::SubscriptionFenced) } else { Ok(subscription) };
        }
        if !new.may_create && new.durable {
            return Err(Error::NoSubscription(new.subscription.clone()));
        }
        let start = match new.start {
            Start::At(position) if new.durable && position == Position::LATEST => Start::Latest,
            start => start,
        };
        self.make(log, &new.subscription, new.durable, start, new.properties.clone(), new.kind).await
    }

    async fn make(
        self: &Rc<Self>,
        log: &ManagedLog,
        name: &str,
        durable: bool,
        start: Start,
        properties: Properties,
        kind: Kind,
    ) -> Result<Rc<Subscription>, Error> {
        if let Some(most) = limit(self.overrides().max_subscriptions, self.context.settings().topics.max_subscriptions)
            && self.subscriptions.borrow().len() >= most as usize
        {
            return Err(Error::NotAllowed(format!(
                "Exceed the maximum number of subscriptions of the topic: {}",
                self.name()
            )));
        }
        let mut cursor = Cursor::new(log.last());
        match start {
            Start::Latest => {}
            Start::Earliest => cursor.seek(Position::EARLIEST, None, log),
            Start::At(position) => cursor.seek(position, None, log),
            Start::Published(at) => cursor.seek(facts::first_published_at(log, at).await?, None, log),
        }
        if durable {
            log.create_cursor(name, cursor.snapshot().into(), properties.clone()).await?;
            // What was just written need not be written again.
            let _ = cursor.drain();
        }
        let parts = Parts { name: name.into(), durable, properties, cursor, kind };
        let subscription = Subscription::new(self, log, parts);
        self.subscriptions.borrow_mut().insert(subscription.name.clone(), subscription.clone());
        Ok(subscription)
    }

    /// Gives a consumer its seat.
    fn seat(self: &Rc<Self>, new: NewConsumer, seat: Seat) -> Result<Rc<Consumer>, Error> {
        let joining = dispatcher::Consumer {
            key: dispatcher::ConsumerKey(0),
            name: new.name.clone(),
            kind: new.kind,
            priority: new.priority,
            durable: new.durable && self.log.is_some(),
            key_shared: new.key_shared.clone(),
            epoch: new.epoch.unwrap_or(0),
            description: format!(
                "Consumer{{subscription={}, consumerId={}, consumerName={}, address={}}}",
                new.subscription, new.id, new.name, new.client.address
            ),
        };
        let now = self.context.clock.wall_ms();
        let consumer = self.context.consumers.insert(|key| {
            Rc::new(Consumer {
                key,
                subscription: seat.clone(),
                context: self.context.clone(),
                connection: new.connection,
                id: new.id,
                name: new.name.into(),
                priority: new.priority,
                client: new.client,
                metadata: new.metadata,
                connected_since: now,
                delivered: Flow::default(),
                last_acked: Cell::new(0),
                last_consumed: Cell::new(0),
                flows: Cell::new(0),
                epoch: Cell::new(new.epoch),
                known: Cell::new(false),
                untold: Cell::new(None),
                told_end: Cell::new(false),
            })
        });
        let joining = dispatcher::Consumer { key: session(consumer.key), ..joining };
        let outcome = match &seat {
            Seat::Persistent(subscription) => subscription.add(&consumer, joining),
            Seat::NonPersistent(subscription) => subscription.add(&consumer, joining),
        };
        if outcome.is_ok() && consumer.client.registers_late {
            consumer.writable(false);
        }
        outcome.map(|()| consumer.clone()).map_err(|refusal| {
            self.context.consumers.remove(consumer.key);
            if let Seat::Persistent(subscription) = &seat
                && !subscription.durable
                && subscription.consumer_count() == 0
            {
                self.forget_subscription(subscription);
            }
            let holder = self.holder(&refusal);
            Error::ConsumerRefused { refusal, holder }
        })
    }

    /// The connection of the consumer a refusal names.
    fn holder(&self, refusal: &Refusal) -> Option<ConnectionId> {
        let key: ConsumerKey = KeyData::from_ffi(refusal.check_first()?.0).into();
        self.context.consumers.get(key).map(|consumer| consumer.connection)
    }

    /// How many consumers are attached.
    pub fn consumer_count(&self) -> usize {
        let kept: usize = self.subscriptions.borrow().values().map(|one| one.consumer_count()).sum();
        let passing: usize = self.broadcasts.borrow().values().map(|one| one.consumer_count()).sum();
        kept + passing
    }
}
