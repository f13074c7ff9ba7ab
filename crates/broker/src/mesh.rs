//! What crosses from one shard to another.
//!
//! Everything a shard has for another one leaves as one batch per scheduling round. Between two shards order is kept.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use plerion_topic::{ConnectionId, ConnectionKey, ConsumerKey, ProducerKey};
use tokio::sync::{Notify, mpsc};

use crate::shard::Shard;

/// One thing for another shard to do.
pub(crate) enum Message {
    /// A frame from the client of an end that is attached there.
    Frame { from: ConnectionId, to: Target, frame: Bytes },
    /// The socket of a consumer that is attached there takes more again.
    Writable { consumer: ConsumerKey },
    /// A frame for a connection that lives there.
    Write(Write),
    /// The shard is to end.
    Stop,
    /// Anything that is rare.
    Call(Call),
}

/// Something to do on another shard.
pub(crate) type Call = Box<dyn FnOnce(&Rc<Shard>) + Send>;

/// Which end of a topic a client's frame is for.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Producer(ProducerKey),
    Consumer(ConsumerKey),
}

/// A frame for a connection, and the publish budget it gives back.
pub(crate) struct Write {
    pub(crate) to: ConnectionKey,
    pub(crate) frame: Bytes,
    pub(crate) payload: Bytes,
    pub(crate) released: Released,
}

/// How much of a connection's publish budget an answer gives back.
#[derive(Clone, Copy, Default)]
pub(crate) struct Released {
    pub(crate) publishes: usize,
    pub(crate) bytes: usize,
}

/// The sending ends towards every shard, this one's included.
#[derive(Clone)]
pub(crate) struct Doors(Vec<mpsc::UnboundedSender<Vec<Message>>>);

/// The receiving end of a shard's batches.
pub(crate) type Inbox = mpsc::UnboundedReceiver<Vec<Message>>;

impl Doors {
    /// Doors for `shards` shards, and the inbox of each.
    ///
    /// The queues have no bound of their own: what is in them is bounded by the clients' publish budgets and permits.
    pub(crate) fn open(shards: usize) -> (Self, Vec<Inbox>) {
        let (doors, inboxes) = (0..shards).map(|_| mpsc::unbounded_channel()).unzip();
        (Self(doors), inboxes)
    }

    /// How many shards there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Ends every shard.
    pub(crate) fn stop(&self) {
        for door in &self.0 {
            let _ = door.send(vec![Message::Stop]);
        }
    }

    /// Has shard `to` run `call`. Nothing happens when the broker has stopped.
    pub(crate) fn call(&self, to: usize, call: impl FnOnce(&Rc<Shard>) + Send + 'static) {
        if let Some(door) = self.0.get(to) {
            let _ = door.send(vec![Message::Call(Box::new(call))]);
        }
    }
}

/// One shard's outgoing batches.
pub(crate) struct Mesh {
    doors: Doors,
    outgoing: RefCell<Vec<Vec<Message>>>,
    pending: Cell<bool>,
    wake: Notify,
}

impl Mesh {
    pub(crate) fn new(doors: Doors) -> Self {
        let outgoing = RefCell::new((0..doors.count()).map(|_| Vec::new()).collect());
        Self { doors, outgoing, pending: Cell::new(false), wake: Notify::new() }
    }

    /// Adds a message to the batch for shard `to`.
    pub(crate) fn post(&self, to: u16, message: Message) {
        if let Some(batch) = self.outgoing.borrow_mut().get_mut(usize::from(to)) {
            batch.push(message);
        }
        if !self.pending.replace(true) {
            self.wake.notify_one();
        }
    }

    /// Sends the batches once per scheduling round; never returns.
    pub(crate) async fn run(&self) {
        loop {
            self.wake.notified().await;
            self.pending.set(false);
            for (door, batch) in self.doors.0.iter().zip(self.outgoing.borrow_mut().iter_mut()) {
                if !batch.is_empty() {
                    let _ = door.send(std::mem::take(batch));
                }
            }
        }
    }
}
