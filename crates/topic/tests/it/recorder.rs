//! Clients that write down what they are told.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use plerion_subscription::Position;
use plerion_topic::{Clients, ConnectionId, Consumer, ConsumerKey, ProducerKey, ProducerRefusal, SendRefusal};
use plerion_wire::encode::{Message, SendReceipt};
use plerion_wire::proto::base_command::Type;
use plerion_wire::proto::{BaseCommand, CommandProducerSuccess};
use plerion_wire::{Payload, ServerError};

/// Something a client was told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Receipt { to: ConnectionId, producer: u64, sequence: u64, position: Position },
    SendError { to: ConnectionId, producer: u64, sequence: u64, error: ServerError },
    Message(Delivered),
    Command { to: ConnectionId, command: Box<BaseCommand> },
    ProducerRefused { to: ConnectionId, producer: u64, request: u64, error: ServerError },
    ProducerClosed { to: ConnectionId, producer: u64 },
    ConsumerClosed { to: ConnectionId, consumer: u64 },
}

/// An entry handed to a consumer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Delivered {
    pub(crate) to: ConnectionId,
    pub(crate) consumer: u64,
    pub(crate) position: Position,
    pub(crate) redeliveries: u32,
    pub(crate) ack_set: Vec<u64>,
    pub(crate) epoch: Option<u64>,
    pub(crate) body: String,
}

#[derive(Default)]
pub(crate) struct Recorder {
    said: RefCell<Vec<Said>>,
    /// Bytes of SENDs that were neither answered nor found without a producer.
    pub(crate) reserved: Cell<i64>,
    /// Asks for one more with every message it is given.
    pub(crate) greedy: RefCell<Option<Rc<Consumer>>>,
}

impl Recorder {
    /// What was said since this was asked last.
    pub(crate) fn take(&self) -> Vec<Said> {
        self.said.take()
    }

    /// What was said, without forgetting it.
    pub(crate) fn said(&self) -> Vec<Said> {
        self.said.borrow().clone()
    }

    /// Takes the messages and leaves the rest.
    pub(crate) fn messages(&self) -> Vec<Delivered> {
        let (messages, rest) = self.said.take().into_iter().partition(|one| matches!(one, Said::Message(_)));
        self.said.replace(rest);
        let message = |one| if let Said::Message(message) = one { Some(message) } else { None };
        <Vec<_> as IntoIterator>::into_iter(messages).filter_map(message).collect()
    }

    /// The bodies of the messages that came, in order.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.messages().into_iter().map(|message| message.body).collect()
    }

    /// Takes the commands of a type and leaves the rest.
    pub(crate) fn commands(&self, kind: Type) -> Vec<(ConnectionId, BaseCommand)> {
        let wanted = |one: &Said| matches!(one, Said::Command { command, .. } if command.r#type() == kind);
        let (commands, rest) = self.said.take().into_iter().partition(wanted);
        self.said.replace(rest);
        let command = |one| if let Said::Command { to, command } = one { Some((to, *command)) } else { None };
        <Vec<_> as IntoIterator>::into_iter(commands).filter_map(command).collect()
    }

    fn say(&self, said: Said) {
        self.said.borrow_mut().push(said);
    }

    fn release(&self, bytes: usize) {
        self.reserved.set(self.reserved.get() - bytes as i64);
        assert!(self.reserved.get() >= 0, "more is given back than was taken");
    }
}

impl Clients for Recorder {
    fn receipt(&self, to: ConnectionId, receipt: &SendReceipt, released: usize) {
        self.release(released);
        let position = Position::new(receipt.ledger_id.cast_signed(), receipt.entry_id.cast_signed());
        self.say(Said::Receipt { to, producer: receipt.producer_id, sequence: receipt.sequence_id, position });
    }

    fn send_error(&self, to: ConnectionId, refusal: &SendRefusal<'_>, released: usize) {
        self.release(released);
        let SendRefusal { producer_id: producer, sequence_id: sequence, error, .. } = *refusal;
        self.say(Said::SendError { to, producer, sequence, error });
    }

    fn deliver(&self, to: ConnectionId, message: &Message<'_>, payload: Bytes) {
        self.say(Said::Message(Delivered {
            to,
            consumer: message.consumer_id,
            position: Position::new(message.ledger_id.cast_signed(), message.entry_id.cast_signed()),
            redeliveries: message.redelivery_count,
            ack_set: message.ack_set.to_vec(),
            epoch: message.consumer_epoch,
            body: String::from_utf8_lossy(Payload::parse(&payload).unwrap().body).into_owned(),
        }));
        if let Some(greedy) = &*self.greedy.borrow() {
            greedy.flow(1);
        }
    }

    fn command(&self, to: ConnectionId, command: BaseCommand) {
        self.say(Said::Command { to, command: Box::new(command) });
    }

    fn admit_producer(&self, to: ConnectionId, _: ProducerKey, _: u64, success: CommandProducerSuccess) {
        self.command(to, success.into());
    }

    fn refuse_producer(&self, to: ConnectionId, refusal: &ProducerRefusal<'_>) {
        let ProducerRefusal { producer_id: producer, request_id: request, error, .. } = *refusal;
        self.say(Said::ProducerRefused { to, producer, request, error });
    }

    fn close_producer(&self, to: ConnectionId, _: ProducerKey, producer: u64) {
        self.say(Said::ProducerClosed { to, producer });
    }

    fn close_consumer(&self, to: ConnectionId, _: ConsumerKey, consumer: u64) {
        self.say(Said::ConsumerClosed { to, consumer });
    }
}
