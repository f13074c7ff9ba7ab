//! The connections of a shard, and the way to those of the others.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use plerion_topic::{Clients, ConnectionId, ConnectionKey, ConsumerKey, ProducerKey, ProducerRefusal, SendRefusal};
use plerion_wire::Payload;
use plerion_wire::encode::{self, SendReceipt};
use plerion_wire::payload::CHECKSUM_PART;
use plerion_wire::proto::{BaseCommand, CommandProducerSuccess};
use slotmap::SlotMap;

use crate::budget::PublishBudget;
use crate::connection::Connection;
use crate::mesh::{Doors, Mesh, Message, Released, Write};

/// Routes what topics say to the connections they say it to.
pub(crate) struct Switchboard {
    shard: u16,
    connections: RefCell<SlotMap<ConnectionKey, Rc<Connection>>>,
    pub(crate) mesh: Mesh,
    publishing: Arc<PublishBudget>,
    /// Frames for other shards are encoded here and split off, so that a frame costs no allocation of its own.
    arena: RefCell<BytesMut>,
}

impl Switchboard {
    pub(crate) fn new(shard: u16, doors: Doors, publishing: Arc<PublishBudget>) -> Rc<Self> {
        Rc::new(Self {
            shard,
            connections: RefCell::new(SlotMap::with_key()),
            mesh: Mesh::new(doors),
            publishing,
            arena: RefCell::new(BytesMut::new()),
        })
    }

    /// The connection with this key, while it is open.
    pub(crate) fn connection(&self, key: ConnectionKey) -> Option<Rc<Connection>> {
        self.connections.borrow().get(key).cloned()
    }

    /// Every open connection.
    pub(crate) fn all(&self) -> Vec<Rc<Connection>> {
        self.connections.borrow().values().cloned().collect()
    }

    pub(crate) fn insert(&self, make: impl FnOnce(ConnectionId) -> Rc<Connection>) -> Rc<Connection> {
        let mut connections = self.connections.borrow_mut();
        let shard = self.shard;
        let key = connections.insert_with_key(|key| make(ConnectionId { shard, key }));
        connections[key].clone()
    }

    pub(crate) fn remove(&self, key: ConnectionKey) {
        self.connections.borrow_mut().remove(key);
    }

    /// Takes a frame that another shard encoded.
    pub(crate) fn accept(&self, write: Write) {
        if let Some(connection) = self.connection(write.to) {
            connection.release(write.released);
            connection.write_shared(write.frame, write.payload);
        }
    }

    /// Encodes a frame for `to`; `payload` follows it.
    fn write(&self, to: ConnectionId, released: Released, payload: Bytes, frame: impl FnOnce(&mut BytesMut)) {
        if to.shard == self.shard {
            if let Some(connection) = self.connections.borrow().get(to.key) {
                connection.release(released);
                connection.write(frame, payload);
            }
        } else {
            let mut arena = self.arena.borrow_mut();
            frame(&mut arena);
            let write = Write { to: to.key, frame: arena.split().freeze(), payload, released };
            self.mesh.post(to.shard, Message::Write(write));
        }
    }

    /// Gives back what a SEND took that gets no answer.
    pub(crate) fn unanswered(&self, to: ConnectionId, bytes: usize) {
        self.publishing.sub(bytes);
        self.write(to, Released { publishes: 1, bytes }, Bytes::new(), |_| {});
    }

    /// Runs `act` where the connection lives, if it is still open then.
    pub(crate) fn with_connection(&self, to: ConnectionId, act: impl FnOnce(&Rc<Connection>) + Send + 'static) {
        if to.shard == self.shard {
            if let Some(connection) = self.connection(to.key) {
                act(&connection);
            }
        } else {
            let call = move |shard: &Rc<crate::shard::Shard>| {
                if let Some(connection) = shard.switchboard.connection(to.key) {
                    act(&connection);
                }
            };
            self.mesh.post(to.shard, Message::Call(Box::new(call)));
        }
    }
}

impl Clients for Switchboard {
    fn receipt(&self, to: ConnectionId, receipt: &SendReceipt, released: usize) {
        self.publishing.sub(released);
        let released = Released { publishes: 1, bytes: released };
        self.write(to, released, Bytes::new(), |buf| encode::send_receipt(receipt, buf));
    }

    fn send_error(&self, to: ConnectionId, refusal: &SendRefusal<'_>, released: usize) {
        self.publishing.sub(released);
        let released = Released { publishes: 1, bytes: released };
        self.write(to, released, Bytes::new(), |buf| {
            encode::send_error(refusal.producer_id, refusal.sequence_id, refusal.error, refusal.message, buf);
        });
    }

    fn deliver(&self, to: ConnectionId, message: &encode::Message<'_>, payload: Bytes) {
        // Clients in Go and Rust cannot read a message without a checksum.
        let checksum = missing_checksum(&payload);
        let length = payload.len() + checksum.map_or(0, |checksum| checksum.len());
        self.write(to, Released::default(), payload, |buf| {
            encode::message_header(message, length, buf);
            if let Some(checksum) = checksum {
                buf.extend_from_slice(&checksum);
            }
        });
    }

    fn command(&self, to: ConnectionId, command: BaseCommand) {
        self.write(to, Released::default(), Bytes::new(), |buf| encode::command(&command, buf));
    }

    fn admit_producer(
        &self,
        to: ConnectionId,
        producer: ProducerKey,
        producer_id: u64,
        success: CommandProducerSuccess,
    ) {
        let place = (self.shard, producer);
        self.with_connection(to, move |connection| connection.producer_admitted(place, producer_id, success));
    }

    fn refuse_producer(&self, to: ConnectionId, refusal: &ProducerRefusal<'_>) {
        let ProducerRefusal { producer, producer_id, request_id, error, message } = *refusal;
        let (place, message) = ((self.shard, producer), message.to_owned());
        self.with_connection(to, move |connection| {
            connection.producer_refused_by_broker(place, producer_id, request_id, error, &message);
        });
    }

    fn close_producer(&self, to: ConnectionId, producer: ProducerKey, producer_id: u64) {
        let place = (self.shard, producer);
        self.with_connection(to, move |connection| connection.producer_closed_by_broker(place, producer_id));
    }

    fn close_consumer(&self, to: ConnectionId, consumer: ConsumerKey, consumer_id: u64) {
        let place = (self.shard, consumer);
        self.with_connection(to, move |connection| connection.consumer_closed_by_broker(place, consumer_id));
    }
}

/// The checksum part of an entry whose producer computed none.
#[inline]
fn missing_checksum(entry: &[u8]) -> Option<[u8; CHECKSUM_PART]> {
    if entry.starts_with(&[0x0e, 0x01]) {
        return None;
    }
    Payload::parse(entry).ok()?.missing_checksum()
}
