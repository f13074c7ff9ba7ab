//! Subscriptions of non-persistent topics: messages pass to whoever is there, and are gone.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use bytes::Bytes;
use plerion_subscription::Position;
use plerion_subscription::dispatcher::{self, Dispatcher, Event, Refusal};
use plerion_wire::command::Ack;
use plerion_wire::encode::Message;
use plerion_wire::{Payload, proto};
use rustc_hash::FxHashMap;

use crate::context::Totals;
use crate::producer::Flow;
use crate::{Consumer, ConsumerKey, Context, Producer, Topic, facts};

/// A subscription of a non-persistent topic.
pub struct Subscription {
    /// Its name, unique in the topic.
    pub name: Arc<str>,
    pub(crate) dispatcher: RefCell<Dispatcher>,
    context: Rc<Context>,
    topic: Weak<Topic>,
    /// Whether it stays when its last consumer leaves.
    lasting: bool,
    consumers: RefCell<FxHashMap<dispatcher::ConsumerKey, Rc<Consumer>>>,
    partition: Option<u32>,
    /// What was delivered.
    pub delivered: Flow,
    /// Messages that nobody could take.
    pub dropped: Cell<u64>,
}

impl Subscription {
    pub(crate) fn new(topic: &Rc<Topic>, name: Arc<str>, kind: dispatcher::Kind, lasting: bool) -> Rc<Self> {
        Rc::new(Self {
            name,
            dispatcher: RefCell::new(Dispatcher::new(kind, topic.dispatch_settings(false))),
            context: topic.context.clone(),
            topic: Rc::downgrade(topic),
            lasting,
            consumers: RefCell::default(),
            partition: topic.name().partition_index(),
            delivered: Flow::default(),
            dropped: Cell::new(0),
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

    /// The subscription's type.
    pub fn kind(&self) -> dispatcher::Kind {
        self.dispatcher.borrow().kind()
    }

    pub(crate) fn consumer(&self, key: dispatcher::ConsumerKey) -> Option<Rc<Consumer>> {
        self.consumers.borrow().get(&key).cloned()
    }

    pub(crate) fn add(&self, consumer: &Rc<Consumer>, joining: dispatcher::Consumer) -> Result<(), Refusal> {
        let now = self.context.clock.wall_ms();
        let events = self.dispatcher.borrow_mut().add_consumer(joining, now)?;
        self.consumers.borrow_mut().insert(consumer.session(), consumer.clone());
        self.announce(&events);
        Ok(())
    }

    pub(crate) fn remove(&self, consumer: &Consumer) {
        self.context.consumers.remove(consumer.key);
        if self.consumers.borrow_mut().remove(&consumer.session()).is_none() {
            return;
        }
        let now = self.context.clock.wall_ms();
        let events = self.dispatcher.borrow_mut().remove_consumer(consumer.session(), now);
        self.announce(&events);
        if let Some(topic) = self.topic.upgrade() {
            topic.touch();
            if !self.lasting && self.consumer_count() == 0 {
                topic.broadcasts.borrow_mut().remove(&self.name);
            }
        }
    }

    /// Takes every consumer out and tells it so, except the one that knows.
    pub(crate) fn disconnect_all(&self, knows: Option<ConsumerKey>) {
        for consumer in self.consumers() {
            self.remove(&consumer);
            if knows != Some(consumer.key) {
                self.context.clients.close_consumer(consumer.connection, consumer.key, consumer.id);
            }
        }
    }

    /// Ends the subscription.
    pub fn delete(&self) {
        self.end(None);
    }

    /// Ends the subscription. The consumer that `knows` is not told.
    pub(crate) fn end(&self, knows: Option<ConsumerKey>) {
        self.disconnect_all(knows);
        if let Some(topic) = self.topic.upgrade() {
            topic.broadcasts.borrow_mut().remove(&self.name);
        }
    }

    /// There is nothing to acknowledge; who wants an answer gets one.
    pub(crate) fn acknowledge(&self, consumer: &Consumer, ack: &Ack<'_>) {
        if ack.request_id.is_some() {
            let response = proto::CommandAckResponse {
                consumer_id: consumer.id,
                request_id: ack.request_id,
                ..proto::CommandAckResponse::default()
            };
            self.context.clients.command(consumer.connection, response.into());
        }
    }

    fn pass(&self, entry: &dispatcher::Facts, bytes: &Bytes) {
        let messages = u64::from(entry.messages);
        let Some(key) = self.dispatcher.borrow_mut().push(entry) else {
            Totals::add(&self.dropped, messages);
            return Totals::add(&self.context.totals.dropped, messages);
        };
        let Some(consumer) = self.consumer(key) else { return };
        consumer.delivered.add(messages, bytes.len() as u64);
        self.delivered.add(messages, bytes.len() as u64);
        Totals::add(&self.context.totals.messages_out, messages);
        Totals::add(&self.context.totals.bytes_out, bytes.len() as u64);
        let message = Message {
            consumer_id: consumer.id,
            ledger_id: entry.position.ledger.cast_unsigned(),
            entry_id: entry.position.entry.cast_unsigned(),
            partition: self.partition.map_or(-1, u32::cast_signed),
            redelivery_count: 0,
            ack_set: &[],
            consumer_epoch: consumer.epoch.get(),
        };
        if !consumer.client.outstanding.add(bytes.len()) {
            self.dispatcher.borrow_mut().set_writable(key, false);
        }
        self.context.clients.deliver(consumer.connection, &message, bytes.clone());
    }

    fn announce(&self, events: &[Event]) {
        for Event::ActiveChanged { consumer, is_active } in events {
            if let Some(consumer) = self.consumer(*consumer) {
                consumer.announce_active(*is_active);
            }
        }
    }
}

impl Topic {
    /// Passes a message on to every subscription of a non-persistent topic.
    pub(crate) fn broadcast(&self, producer: &Producer, payload: &Payload<'_>, messages: u32) {
        let subscriptions = self.broadcasts.borrow();
        self.published.add(u64::from(messages), payload.without_broker_entry().len() as u64);
        Totals::add(&producer.topic.context.totals.messages_in, u64::from(messages));
        if subscriptions.is_empty() {
            return Totals::add(&self.context.totals.dropped, u64::from(messages));
        }
        let bytes = Bytes::copy_from_slice(payload.without_broker_entry());
        // Pulsar gives every message of a non-persistent topic the same place.
        let by_key = subscriptions.values().any(|one| one.kind() == dispatcher::Kind::KeyShared);
        let entry = facts::peek(Position::new(0, 0), &bytes, by_key).facts;
        for subscription in subscriptions.values() {
            subscription.pass(&entry, &bytes);
        }
    }
}
