//! A client's connection.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use plerion_clock::SharedClock;
use plerion_topic::{ClientFacts, ConnectionId, ConsumerKey, Outstanding};
use plerion_wire::proto::BaseCommand;
use plerion_wire::{ServerError, encode};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::mesh::Released;
use crate::shard::Shard;

mod attachments;
mod commands;
pub(crate) mod handshake;
pub(crate) mod hot;
mod outbox;
pub(crate) mod reader;
mod writer;

pub(crate) use attachments::{Attached, Attachments, Attempt, forget};
pub(crate) use handshake::Session;

use outbox::Outbox;

/// How long a closed connection may take to accept what was already queued for it.
const DRAIN: Duration = Duration::from_millis(500);

/// A client's connection, on the shard that accepted it.
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) address: Arc<str>,
    pub(crate) clock: SharedClock,
    stream: TcpStream,
    outbox: RefCell<Outbox>,
    write: Notify,
    outstanding: Arc<Outstanding>,
    /// SENDs without an answer.
    publishing: Cell<Released>,
    /// Wakes the reader when it may go on.
    resume: Notify,
    closing: Cell<Closing>,
    closed: Notify,
    /// Its producers and consumers have been told.
    gone: Cell<bool>,
    /// When something last arrived, by the monotonic clock.
    heard: Cell<Duration>,
    /// Woken by each PONG.
    ponged: Notify,
    session: RefCell<Session>,
    pub(crate) attachments: RefCell<Attachments>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    Open,
    /// What waits is still written.
    Draining,
    Now,
}

impl Connection {
    fn new(id: ConnectionId, stream: TcpStream, address: Arc<str>, clock: SharedClock) -> Rc<Self> {
        Rc::new(Self {
            id,
            address,
            stream,
            outbox: RefCell::default(),
            write: Notify::new(),
            outstanding: Arc::default(),
            publishing: Cell::default(),
            resume: Notify::new(),
            closing: Cell::new(Closing::Open),
            closed: Notify::new(),
            heard: Cell::new(clock.monotonic()),
            gone: Cell::new(false),
            clock,
            ponged: Notify::new(),
            session: RefCell::default(),
            attachments: RefCell::default(),
        })
    }

    /// Serves `stream` until either side closes it.
    pub(crate) async fn serve(shard: Rc<Shard>, stream: TcpStream) {
        let address: Arc<str> =
            stream.peer_addr().map_or_else(|_| Arc::from("unknown"), |peer| peer.to_string().into());
        let _ = stream.set_nodelay(true);
        let clock = shard.clock().clone();
        let connection = shard.switchboard.insert(|id| Self::new(id, stream, address, clock));
        shard.counters().connections_opened();
        tracing::debug!(client = %connection.address, "connection opened");
        let mut writer = tokio::task::spawn_local(writer::run(shard.clone(), connection.clone()));
        let why = tokio::select! {
            why = reader::run(&shard, &connection) => why,
            why = handshake::keep_alive(&shard, &connection) => why,
            () = connection.until_closed() => reader::Ended::ByBroker,
        };
        tracing::debug!(client = %connection.address, %why, "connection closed");
        connection.close_after_writing();
        shard.switchboard.remove(connection.id.key);
        commands::detach_all(&shard, &connection);
        connection.gone.set(true);
        connection.closed.notify_waiters();
        if tokio::time::timeout(DRAIN, &mut writer).await.is_err() {
            connection.close();
            writer.abort();
        }
        shard.counters().connections_closed();
    }

    /// Encodes a frame, followed by `payload`.
    pub(crate) fn write(&self, frame: impl FnOnce(&mut BytesMut), payload: Bytes) {
        if self.closing.get() == Closing::Now {
            return;
        }
        let mut outbox = self.outbox.borrow_mut();
        outbox.encode(frame);
        outbox.share(payload);
        drop(outbox);
        self.write.notify_one();
    }

    /// Queues a frame that is encoded already, followed by `payload`.
    pub(crate) fn write_shared(&self, frame: Bytes, payload: Bytes) {
        self.write(|buf| buf.extend_from_slice(&frame), payload);
    }

    /// Queues a command.
    pub(crate) fn send(&self, command: &BaseCommand) {
        self.write(|buf| encode::command(command, buf), Bytes::new());
    }

    /// Answers request `request_id` with an error.
    pub(crate) fn send_error(&self, request_id: u64, error: ServerError, message: &str) {
        self.write(|buf| encode::error(request_id, error, message, buf), Bytes::new());
    }

    /// Where its consumers are.
    pub(crate) fn consumer_places(&self) -> Vec<(u16, ConsumerKey)> {
        self.attachments.borrow().consumers.values().filter_map(Attached::place).collect()
    }

    /// Takes `taken` from the publish budget.
    fn reserve(&self, taken: Released) {
        let now = self.publishing.get();
        self.publishing.set(Released { publishes: now.publishes + taken.publishes, bytes: now.bytes + taken.bytes });
    }

    /// Gives `released` back to the publish budget.
    pub(crate) fn release(&self, released: Released) {
        if released.publishes == 0 {
            return;
        }
        let now = self.publishing.get();
        self.publishing.set(Released {
            publishes: now.publishes.saturating_sub(released.publishes),
            bytes: now.bytes.saturating_sub(released.bytes),
        });
        self.resume.notify_one();
    }

    /// What the client said of itself.
    pub(crate) fn facts(&self) -> ClientFacts {
        let session = self.session.borrow();
        ClientFacts {
            address: self.address.clone(),
            version: session.client_version.clone(),
            protocol_version: session.protocol_version,
            takes_end_of_topic: session.takes_end_of_topic(),
            registers_late: session.registers_late(),
            outstanding: self.outstanding.clone(),
        }
    }

    /// The session; it changes only during the handshake.
    pub(crate) fn session(&self) -> std::cell::Ref<'_, Session> {
        self.session.borrow()
    }

    /// Closes without writing what waits.
    pub(crate) fn close(&self) {
        self.end(Closing::Now);
    }

    /// Closes after what waits is written.
    pub(crate) fn close_after_writing(&self) {
        if self.closing.get() == Closing::Open {
            self.end(Closing::Draining);
        }
    }

    fn end(&self, how: Closing) {
        self.closing.set(how);
        self.closed.notify_waiters();
        self.write.notify_one();
    }

    async fn until_closed(&self) {
        let closed = self.closed.notified();
        if self.closing.get() == Closing::Open {
            closed.await;
        }
    }

    /// Resolves when its producers and consumers have been told that it is gone.
    pub(crate) async fn ended(&self) {
        loop {
            let closed = self.closed.notified();
            if self.gone.get() {
                return;
            }
            closed.await;
        }
    }

    fn is_open(&self) -> bool {
        self.closing.get() == Closing::Open
    }
}
