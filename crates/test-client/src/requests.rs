//! What clients ask for.

use plerion_wire::proto::command_ack::AckType;
use plerion_wire::proto::command_subscribe::{InitialPosition, SubType};
use plerion_wire::proto::{
    BaseCommand, CommandAck, CommandCloseConsumer, CommandCloseProducer, CommandFlow, CommandGetLastMessageId,
    CommandLookupTopic, CommandLookupTopicResponse, CommandProducer, CommandProducerSuccess, CommandSeek, CommandSend,
    CommandSubscribe, CommandUnsubscribe, KeySharedMeta, KeySharedMode, MessageIdData,
};

use crate::client::message_frame;
use crate::{Client, Error, Position};

/// Before every message.
pub const EARLIEST: Position = Position { ledger: u64::MAX, entry: u64::MAX };

/// After every message.
pub const LATEST: Position = Position { ledger: i64::MAX as u64, entry: i64::MAX as u64 };

/// How to subscribe.
#[derive(Clone, Debug)]
pub struct Consumer<'a> {
    /// The topic.
    pub topic: &'a str,
    /// The subscription; made when it is not there.
    pub subscription: &'a str,
    /// Its type.
    pub kind: SubType,
    /// The consumer's number on its connection.
    pub id: u64,
    /// The consumer's name; the broker's choice when empty.
    pub name: &'a str,
    /// Where a new subscription starts.
    pub from: InitialPosition,
    /// Where a reader starts; `None` for a durable subscription.
    pub reader_from: Option<Position>,
}

impl<'a> Consumer<'a> {
    /// A consumer of a durable subscription that starts at the earliest message.
    pub fn new(topic: &'a str, subscription: &'a str, kind: SubType, id: u64) -> Self {
        Self { topic, subscription, kind, id, name: "", from: InitialPosition::Earliest, reader_from: None }
    }

    fn command(&self, request_id: u64) -> CommandSubscribe {
        let keyed = KeySharedMeta { key_shared_mode: KeySharedMode::AutoSplit.into(), ..Default::default() };
        CommandSubscribe {
            topic: self.topic.into(),
            subscription: self.subscription.into(),
            sub_type: self.kind.into(),
            consumer_id: self.id,
            request_id,
            consumer_name: (!self.name.is_empty()).then(|| self.name.into()),
            durable: Some(self.reader_from.is_none()),
            start_message_id: self.reader_from.map(MessageIdData::from),
            initial_position: Some(self.from.into()),
            key_shared_meta: (self.kind == SubType::KeyShared).then_some(keyed),
            ..Default::default()
        }
    }
}

/// The methods that ask fail with [`Error::Refused`] when the broker refuses, and else as
/// [`request`](Client::request).
impl Client {
    /// Asks which broker serves a topic.
    ///
    /// # Errors
    /// See above.
    pub async fn lookup(&mut self, topic: &str) -> Result<CommandLookupTopicResponse, Error> {
        let id = self.next_request();
        let lookup = CommandLookupTopic { topic: topic.into(), request_id: id, ..Default::default() };
        Ok(*self.request(id, lookup).await?.lookup_topic_response.unwrap_or_default())
    }

    /// Opens a producer; an empty name leaves the choice to the broker.
    ///
    /// # Errors
    /// See above.
    pub async fn produce(
        &mut self,
        topic: &str,
        producer_id: u64,
        name: &str,
    ) -> Result<CommandProducerSuccess, Error> {
        let request_id = self.next_request();
        let named = !name.is_empty();
        let producer = CommandProducer {
            topic: topic.into(),
            producer_id,
            request_id,
            producer_name: named.then(|| name.into()),
            user_provided_producer_name: Some(named),
            ..Default::default()
        };
        Ok(*self.request(request_id, producer).await?.producer_success.unwrap_or_default())
    }

    /// Sends a payload part as one message and does not wait for its receipt.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn publish(&mut self, producer_id: u64, sequence_id: u64, payload: &[u8]) -> Result<(), Error> {
        let send = CommandSend { producer_id, sequence_id, num_messages: Some(1), ..Default::default() };
        self.send_bytes(&message_frame(send, payload)).await
    }

    /// Sends a payload part as one message and waits for its receipt.
    ///
    /// # Errors
    /// [`Error::Refused`] when SEND_ERROR comes instead.
    pub async fn publish_and_wait(
        &mut self,
        producer_id: u64,
        sequence_id: u64,
        payload: &[u8],
    ) -> Result<Position, Error> {
        self.publish(producer_id, sequence_id, payload).await?;
        let answer = self.await_frame(|frame| outcome_of(&frame.command) == Some((producer_id, sequence_id))).await?;
        match (answer.command.send_receipt, answer.command.send_error) {
            (_, Some(error)) => Err(Error::Refused { code: error.error(), message: error.message }),
            (receipt, None) => {
                let id = receipt.and_then(|receipt| receipt.message_id).unwrap_or_default();
                Ok(Position::from(&id))
            }
        }
    }

    /// Subscribes; nothing comes before permits are given.
    ///
    /// # Errors
    /// See above.
    pub async fn subscribe(&mut self, consumer: &Consumer<'_>) -> Result<(), Error> {
        let id = self.next_request();
        self.request(id, consumer.command(id)).await.map(drop)
    }

    /// Gives permits.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn flow(&mut self, consumer_id: u64, permits: u32) -> Result<(), Error> {
        self.send(CommandFlow { consumer_id, message_permits: permits }).await
    }

    /// Acknowledges without asking for an answer.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn ack(&mut self, consumer_id: u64, kind: AckType, ids: &[MessageIdData]) -> Result<(), Error> {
        self.send(acknowledgement(consumer_id, kind, ids)).await
    }

    /// Sends an ACK that asks for an ACK_RESPONSE, without waiting for it, and returns its request id.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn ack_with_request(
        &mut self,
        consumer_id: u64,
        kind: AckType,
        ids: &[MessageIdData],
    ) -> Result<u64, Error> {
        let id = self.next_request();
        self.send(CommandAck { request_id: Some(id), ..acknowledgement(consumer_id, kind, ids) }).await?;
        Ok(id)
    }

    /// Acknowledges and waits for the ACK_RESPONSE.
    ///
    /// # Errors
    /// See above.
    pub async fn ack_and_wait(&mut self, consumer_id: u64, kind: AckType, ids: &[MessageIdData]) -> Result<(), Error> {
        let id = self.next_request();
        let ack = CommandAck { request_id: Some(id), ..acknowledgement(consumer_id, kind, ids) };
        self.request(id, ack).await.map(drop)
    }

    /// Sets a subscription to a position.
    ///
    /// # Errors
    /// See above.
    pub async fn seek(&mut self, consumer_id: u64, to: Position) -> Result<(), Error> {
        let request_id = self.next_request();
        let seek = CommandSeek { consumer_id, request_id, message_id: Some(to.into()), ..Default::default() };
        self.request(request_id, seek).await.map(drop)
    }

    /// The position of a topic's last message.
    ///
    /// # Errors
    /// See above.
    pub async fn last_message(&mut self, consumer_id: u64) -> Result<Position, Error> {
        let request_id = self.next_request();
        let answer = self.request(request_id, CommandGetLastMessageId { consumer_id, request_id }).await?;
        let last = answer.get_last_message_id_response.unwrap_or_default().last_message_id;
        Ok(Position::from(&last))
    }

    /// Removes a consumer's subscription.
    ///
    /// # Errors
    /// See above.
    pub async fn unsubscribe(&mut self, consumer_id: u64) -> Result<(), Error> {
        let request_id = self.next_request();
        self.request(request_id, CommandUnsubscribe { consumer_id, request_id, ..Default::default() }).await.map(drop)
    }

    /// Closes a producer.
    ///
    /// # Errors
    /// See above.
    pub async fn close_producer(&mut self, producer_id: u64) -> Result<(), Error> {
        let request_id = self.next_request();
        let close = CommandCloseProducer { producer_id, request_id, ..Default::default() };
        self.request(request_id, close).await.map(drop)
    }

    /// Closes a consumer.
    ///
    /// # Errors
    /// See above.
    pub async fn close_consumer(&mut self, consumer_id: u64) -> Result<(), Error> {
        let request_id = self.next_request();
        let close = CommandCloseConsumer { consumer_id, request_id, ..Default::default() };
        self.request(request_id, close).await.map(drop)
    }
}

fn acknowledgement(consumer_id: u64, kind: AckType, ids: &[MessageIdData]) -> CommandAck {
    CommandAck { consumer_id, ack_type: kind.into(), message_id: ids.to_vec(), ..Default::default() }
}

/// The producer and sequence id of the SEND that a command is the outcome of.
fn outcome_of(command: &BaseCommand) -> Option<(u64, u64)> {
    let receipt = command.send_receipt.as_ref().map(|receipt| (receipt.producer_id, receipt.sequence_id));
    receipt.or_else(|| command.send_error.as_ref().map(|error| (error.producer_id, error.sequence_id)))
}
