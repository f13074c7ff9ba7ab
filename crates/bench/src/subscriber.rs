//! One connection that consumes.

use std::time::Duration;

use plerion_wire::encode::PONG;
use plerion_wire::proto::command_subscribe::SubType;
use plerion_wire::proto::{MessageIdData, base_command::Type};
use plerion_wire::{MessageMetadata, Payload};
use prost::Message as _;

use crate::connection::{Connection, Start, Subscribe};
use crate::engine::Run;
use crate::routes::Route;
use crate::{Error, fields};

/// How a connection's consumers are to be.
#[derive(Clone, Debug)]
pub(crate) struct Consumers<'a> {
    /// Names of the subscriptions; each topic gets a consumer on each.
    pub(crate) subscriptions: &'a [String],
    pub(crate) kind: SubType,
    pub(crate) start: Start,
    /// Messages a consumer may hold unprocessed; with 0 none come.
    pub(crate) queue: u32,
}

/// A connection with consumers.
#[derive(Debug)]
pub(crate) struct Subscriber {
    connection: Connection,
    consumers: Vec<Consumer>,
    /// Whether one acknowledgement covers all messages before it.
    cumulative: bool,
    /// Messages after which permits are renewed and acknowledgements sent.
    half: u32,
}

#[derive(Debug)]
struct Consumer {
    topic: String,
    /// The topic's place in the route.
    place: usize,
    /// Messages since permits were renewed.
    taken: u32,
    unacknowledged: Vec<MessageIdData>,
}

/// An entry that has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery<'a> {
    /// The topic's place in the route.
    pub(crate) topic: usize,
    pub(crate) metadata: MessageMetadata<'a>,
    /// Messages in it.
    pub(crate) messages: u64,
    /// Bytes of its messages.
    pub(crate) bytes: u64,
    pub(crate) at: Duration,
}

/// Whether to go on consuming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    More,
    Enough,
}

impl Subscriber {
    pub(crate) fn open(route: &Route, consumers: &Consumers<'_>) -> Result<Self, Error> {
        let mut connection = Connection::open(&route.address)?;
        let mut opened = Vec::new();
        for (place, (_, topic)) in route.topics.iter().enumerate() {
            for subscription in consumers.subscriptions {
                connection.subscribe(&Subscribe {
                    topic,
                    subscription,
                    kind: consumers.kind,
                    consumer_id: opened.len() as u64,
                    start: consumers.start,
                })?;
                opened.push(Consumer { topic: topic.clone(), place, taken: 0, unacknowledged: Vec::new() });
            }
        }
        for id in (0..opened.len() as u64).filter(|_| consumers.queue > 0) {
            connection.sender.flow(id, consumers.queue)?;
        }
        let cumulative = matches!(consumers.kind, SubType::Exclusive | SubType::Failover);
        Ok(Self { connection, consumers: opened, cumulative, half: (consumers.queue / 2).max(1) })
    }

    /// Hands every delivery to `on`, and `None` whenever nothing has come for a moment, until one of them has enough.
    pub(crate) fn run(
        &mut self,
        run: Run<'_>,
        mut on: impl FnMut(Option<&Delivery<'_>>) -> Result<Next, Error>,
    ) -> Result<(), Error> {
        let Self { connection, consumers, cumulative, half } = self;
        let Connection { sender, reader, .. } = connection;
        loop {
            let Some(frame) = reader.next()? else {
                if on(None)? == Next::Enough {
                    break;
                }
                continue;
            };
            if frame.is(Type::Ping) {
                sender.bytes(&PONG)?;
            } else if frame.is(Type::CloseConsumer) {
                let topic = consumers.get(frame.int(1)? as usize).map(|consumer| consumer.topic.clone());
                return Err(Error::Closed("consumer", topic.unwrap_or_default()));
            }
            if !frame.is(Type::Message) {
                continue;
            }
            let id = frame.int(1)?;
            let Some(consumer) = consumers.get_mut(id as usize) else {
                return Err(Error::Protocol(format!("a message for consumer {id}, which there is not")));
            };
            let payload = Payload::parse(frame.payload).map_err(|e| Error::Protocol(e.to_string()))?;
            let metadata = MessageMetadata::peek(payload.metadata).map_err(|e| Error::Protocol(e.to_string()))?;
            let messages = metadata.num_messages();
            let delivery = Delivery {
                topic: consumer.place,
                metadata,
                messages: u64::from(messages),
                bytes: payload.body.len() as u64,
                at: run.now(),
            };
            run.progress.received(delivery.messages);
            let next = on(Some(&delivery))?;
            let message_id = fields::bytes(frame.body, 2).unwrap_or_default();
            let message_id = MessageIdData::decode(message_id).map_err(|e| Error::Protocol(e.to_string()))?;
            if *cumulative {
                consumer.unacknowledged.clear();
            }
            consumer.unacknowledged.push(message_id);
            consumer.taken += messages;
            if consumer.taken >= *half {
                sender.ack(id, std::mem::take(&mut consumer.unacknowledged), *cumulative)?;
                sender.flow(id, std::mem::take(&mut consumer.taken))?;
            }
            if next == Next::Enough {
                break;
            }
        }
        for (id, consumer) in (0..).zip(consumers) {
            if !consumer.unacknowledged.is_empty() {
                sender.ack(id, std::mem::take(&mut consumer.unacknowledged), *cumulative)?;
            }
        }
        Ok(())
    }

    /// Removes the subscriptions.
    pub(crate) fn unsubscribe(mut self) -> Result<(), Error> {
        for (id, consumer) in (0..).zip(&self.consumers) {
            self.connection.unsubscribe(&consumer.topic, id)?;
        }
        Ok(())
    }
}
