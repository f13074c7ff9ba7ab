//! A subscription of a persistent topic, at work.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use bytes::Bytes;
use plerion_managed_log::{LogEntry, ManagedLog, Properties};
use plerion_subscription::dispatcher::{self, Delivery, Dispatcher, Event, Facts, Refusal};
use plerion_subscription::{Cursor, Position};
use rustc_hash::FxHashMap;

use crate::producer::Flow;
use crate::{Consumer, ConsumerKey, Context, Error, Topic};

mod ack;
mod position;
mod pump;
mod seek;
mod stats;

pub use position::LastMessage;
pub use seek::Target;
pub use stats::SubscriptionFigures;

/// A subscription of a persistent topic: its cursor, its rules of dispatch, and its consumers.
pub struct Subscription {
    /// Its name, unique in the topic.
    pub name: Arc<str>,
    /// Whether it survives its consumers.
    pub durable: bool,
    /// What it was created with.
    pub properties: RefCell<Properties>,
    pub(crate) context: Rc<Context>,
    pub(crate) topic: Weak<Topic>,
    pub(crate) log: ManagedLog,
    pub(crate) cursor: RefCell<Cursor>,
    pub(crate) dispatcher: RefCell<Dispatcher>,
    consumers: RefCell<FxHashMap<dispatcher::ConsumerKey, Rc<Consumer>>>,
    /// The partition's index, if the topic is one.
    partition: Option<u32>,
    pumping: Cell<Pumping>,
    timer: RefCell<Option<pump::Timer>>,
    scratch: RefCell<Scratch>,
    /// A seek is under way: nobody may join.
    seeking: Cell<bool>,
    deleted: Cell<bool>,
    /// Whether the cursor has changes that the state log does not have.
    pub(crate) unsaved: Cell<bool>,
    acks: RefCell<ack::Waiting>,
    delivered: Flow,
    /// Messages that consumers were given again because they asked.
    redelivered: Cell<u64>,
    /// Messages that expired.
    expired: Cell<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pumping {
    Idle,
    Running,
    /// Running, and something has changed meanwhile.
    Again,
    /// A task will go on.
    Scheduled,
}

/// What a pump fills and empties, kept for its capacity.
#[derive(Default)]
struct Scratch {
    entries: Vec<LogEntry>,
    facts: Vec<Facts>,
    deliveries: Vec<Delivery>,
}

/// What a new subscription is made of.
pub(crate) struct Parts {
    pub(crate) name: Arc<str>,
    pub(crate) durable: bool,
    pub(crate) properties: Properties,
    pub(crate) cursor: Cursor,
    pub(crate) kind: dispatcher::Kind,
}

impl Subscription {
    pub(crate) fn new(topic: &Rc<Topic>, log: &ManagedLog, parts: Parts) -> Rc<Self> {
        let settings = topic.dispatch_settings(parts.durable);
        Rc::new(Self {
            name: parts.name,
            durable: parts.durable,
            properties: RefCell::new(parts.properties),
            context: topic.context.clone(),
            topic: Rc::downgrade(topic),
            log: log.clone(),
            cursor: RefCell::new(parts.cursor),
            dispatcher: RefCell::new(Dispatcher::new(parts.kind, settings)),
            consumers: RefCell::default(),
            partition: topic.name().partition_index(),
            pumping: Cell::new(Pumping::Idle),
            timer: RefCell::default(),
            scratch: RefCell::default(),
            seeking: Cell::new(false),
            deleted: Cell::new(false),
            unsaved: Cell::new(false),
            acks: RefCell::default(),
            delivered: Flow::default(),
            redelivered: Cell::new(0),
            expired: Cell::new(0),
        })
    }

    /// The attached consumers.
    pub fn consumers(&self) -> Vec<Rc<Consumer>> {
        let mut consumers: Vec<_> = self.consumers.borrow().values().cloned().collect();
        consumers.sort_unstable_by_key(|consumer| consumer.key);
        consumers
    }

    /// How many consumers are attached.
    pub fn consumer_count(&self) -> usize {
        self.consumers.borrow().len()
    }

    pub(crate) fn consumer(&self, key: dispatcher::ConsumerKey) -> Option<Rc<Consumer>> {
        self.consumers.borrow().get(&key).cloned()
    }

    /// Lets `consumer` in, if the rules allow it.
    pub(crate) fn add(&self, consumer: &Rc<Consumer>, joining: dispatcher::Consumer) -> Result<(), Refusal> {
        let now = self.context.clock.wall_ms();
        let events = self.dispatcher.borrow_mut().add_consumer(joining, now)?;
        self.consumers.borrow_mut().insert(consumer.session(), consumer.clone());
        self.announce(&events);
        Ok(())
    }

    /// Takes `consumer` out; what it has goes to others.
    pub(crate) fn remove(self: &Rc<Self>, consumer: &Consumer) {
        self.context.consumers.remove(consumer.key);
        if self.consumers.borrow_mut().remove(&consumer.session()).is_none() {
            return;
        }
        let now = self.context.clock.wall_ms();
        let events = self.dispatcher.borrow_mut().remove_consumer(consumer.session(), now);
        self.announce(&events);
        self.left();
        self.pump();
    }

    /// Takes every consumer out and tells it so, except the one that knows.
    pub(crate) fn disconnect_all(self: &Rc<Self>, knows: Option<ConsumerKey>) {
        let consumers = self.consumers();
        // Nobody is given anything, or told of others, on the way.
        self.consumers.borrow_mut().clear();
        let now = self.context.clock.wall_ms();
        for consumer in consumers {
            self.context.consumers.remove(consumer.key);
            self.dispatcher.borrow_mut().remove_consumer(consumer.session(), now);
            if knows != Some(consumer.key) {
                self.context.clients.close_consumer(consumer.connection, consumer.key, consumer.id);
            }
        }
        self.left();
    }

    /// Notes that consumers left.
    fn left(self: &Rc<Self>) {
        let Some(topic) = self.topic.upgrade() else { return };
        topic.touch();
        // Who is sent away by a seek comes back.
        if !self.durable && !self.seeking.get() && self.consumers.borrow().is_empty() {
            topic.forget_subscription(self);
        }
    }

    /// Has nothing recorded any more: the topic is going, with everything in it.
    pub(crate) fn retire(&self) {
        self.deleted.set(true);
    }

    /// Whether nobody may join at present.
    pub(crate) fn is_fenced(&self) -> bool {
        self.seeking.get() || self.deleted.get()
    }

    /// Ends the subscription for good, durably.
    ///
    /// # Errors
    /// What the log says; the subscription is gone from memory then, and found again when the topic is opened anew.
    pub async fn delete(self: &Rc<Self>) -> Result<(), Error> {
        self.end(None).await
    }

    /// Ends the subscription for good, durably. The consumer that `knows` is not told.
    pub(crate) async fn end(self: &Rc<Self>, knows: Option<ConsumerKey>) -> Result<(), Error> {
        self.deleted.set(true);
        self.disconnect_all(knows);
        if let Some(topic) = self.topic.upgrade() {
            topic.forget_subscription(self);
        }
        if self.durable {
            self.log.delete_cursor(&self.name).await?;
        }
        Ok(())
    }

    /// How many entries are not acknowledged.
    pub fn backlog(&self) -> u64 {
        self.cursor.borrow().backlog(&self.log)
    }

    /// The position up to which everything is acknowledged.
    pub fn mark_delete(&self) -> Position {
        self.cursor.borrow().mark_delete()
    }

    /// The cursor's whole state, as the checkpoint stores it.
    pub(crate) fn snapshot(&self) -> Bytes {
        self.cursor.borrow().snapshot().into()
    }

    fn announce(&self, events: &[Event]) {
        for Event::ActiveChanged { consumer, is_active } in events {
            if let Some(consumer) = self.consumer(*consumer) {
                consumer.announce_active(*is_active);
            }
        }
    }
}
