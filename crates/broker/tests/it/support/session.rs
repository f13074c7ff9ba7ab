//! A client's session, which takes every surprise for a failure of the test.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use bytes::Bytes;
use plerion_test_client::{Client, Error, Outgoing, Position, Received, Type};
use plerion_wire::proto::command_ack::AckType;
use plerion_wire::proto::command_subscribe::{InitialPosition, SubType};
use plerion_wire::proto::{
    BaseCommand, CommandAck, CommandConsumerStats, CommandConsumerStatsResponse, CommandMessage, CommandPing,
    CommandProducer, CommandProducerSuccess, CommandSend, CommandSendReceipt, CommandSubscribe, MessageIdData,
};
use plerion_wire::{Payload, ServerError};

/// A connection to a broker.
pub(crate) struct Session(Client);

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.0
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.0
    }
}

/// A message as it was delivered.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    pub(crate) command: CommandMessage,
    /// All that followed the command.
    pub(crate) payload: Bytes,
    pub(crate) body: Bytes,
}

impl Delivered {
    fn read(frame: Received) -> Self {
        let command = *frame.command.message.expect("a message");
        let payload = Payload::parse(&frame.payload).unwrap();
        assert!(payload.broker_entry.is_none(), "nobody asked for broker entry metadata");
        assert!(payload.checksum.is_some(), "clients in Go and Rust cannot read a message without a checksum");
        payload.verify().unwrap();
        let body = frame.payload.slice_ref(payload.body);
        Self { command, payload: frame.payload, body }
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn id(&self) -> MessageIdData {
        self.command.message_id.clone()
    }

    pub(crate) fn position(&self) -> Position {
        Position::from(&self.command.message_id)
    }
}

/// PRODUCER of a topic, to be filled in further.
pub(crate) fn producer(topic: &str, producer_id: u64) -> CommandProducer {
    CommandProducer { topic: topic.into(), producer_id, ..Default::default() }
}

/// SUBSCRIBE to a topic from its beginning, to be filled in further.
pub(crate) fn subscription(topic: &str, name: &str, kind: SubType, consumer_id: u64) -> CommandSubscribe {
    CommandSubscribe {
        topic: topic.into(),
        subscription: name.into(),
        sub_type: kind.into(),
        consumer_id,
        consumer_name: Some(format!("consumer-{consumer_id}")),
        initial_position: Some(InitialPosition::Earliest.into()),
        ..Default::default()
    }
}

impl Session {
    pub(crate) async fn connect(port: u16) -> Self {
        Self(Client::connect(port).await.unwrap())
    }

    pub(crate) async fn open(port: u16) -> Self {
        Self(Client::open(port).await.unwrap())
    }

    /// The answer to a request that is made of its id, whatever it says.
    pub(crate) async fn try_ask<C: Into<BaseCommand>>(
        &mut self,
        make: impl FnOnce(u64) -> C,
    ) -> Result<BaseCommand, Error> {
        let id = self.next_request();
        self.request(id, make(id)).await
    }

    /// The answer to a request that succeeds.
    pub(crate) async fn ask<C: Into<BaseCommand>>(&mut self, make: impl FnOnce(u64) -> C) -> BaseCommand {
        self.try_ask(make).await.unwrap()
    }

    /// The refusal of a request.
    pub(crate) async fn refusal<C: Into<BaseCommand>>(&mut self, make: impl FnOnce(u64) -> C) -> (ServerError, String) {
        refusal(self.try_ask(make).await)
    }

    pub(crate) async fn open_producer(&mut self, command: CommandProducer) -> CommandProducerSuccess {
        *self.ask(|request_id| CommandProducer { request_id, ..command }).await.producer_success.unwrap()
    }

    pub(crate) async fn refused_producer(&mut self, command: CommandProducer) -> (ServerError, String) {
        self.refusal(|request_id| CommandProducer { request_id, ..command }).await
    }

    pub(crate) async fn open_consumer(&mut self, command: CommandSubscribe) {
        self.ask(|request_id| CommandSubscribe { request_id, ..command }).await;
    }

    pub(crate) async fn refused_consumer(&mut self, command: CommandSubscribe) -> (ServerError, String) {
        self.refusal(|request_id| CommandSubscribe { request_id, ..command }).await
    }

    /// Publishes a text through producer `producer_id`, and where it was stored.
    pub(crate) async fn say(&mut self, producer_id: u64, sequence_id: u64, text: &str) -> Position {
        let message = Outgoing::new("it", sequence_id, text);
        self.publish_and_wait(producer_id, sequence_id, &message.payload()).await.unwrap()
    }

    /// Publishes a batch, and where it was stored.
    pub(crate) async fn say_batch(&mut self, producer_id: u64, sequence_id: u64, texts: &[&str]) -> Position {
        let batch = Outgoing::batch("it", sequence_id, texts.iter().map(|text| text.as_bytes()));
        let send = CommandSend {
            producer_id,
            sequence_id,
            num_messages: i32::try_from(texts.len()).ok(),
            highest_sequence_id: Some(sequence_id + texts.len() as u64 - 1),
            ..Default::default()
        };
        self.send_message(send, &batch.payload()).await.unwrap();
        Position::from(&self.receipt().await.message_id.unwrap())
    }

    /// The next receipt.
    pub(crate) async fn receipt(&mut self) -> CommandSendReceipt {
        *self.await_kind(Type::SendReceipt).await.unwrap().command.send_receipt.unwrap()
    }

    /// The next message for any consumer.
    pub(crate) async fn message(&mut self) -> Delivered {
        Delivered::read(self.await_kind(Type::Message).await.unwrap())
    }

    /// The texts of the next messages.
    pub(crate) async fn texts(&mut self, count: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for _ in 0..count {
            texts.push(self.message().await.text().to_owned());
        }
        texts
    }

    /// Gives permits, and the messages they bring.
    pub(crate) async fn take(&mut self, consumer_id: u64, count: u32) -> Vec<Delivered> {
        self.flow(consumer_id, count).await.unwrap();
        let mut messages = Vec::new();
        for _ in 0..count {
            messages.push(self.message().await);
        }
        messages
    }

    /// Acknowledges messages, durably.
    pub(crate) async fn acknowledge(&mut self, consumer_id: u64, ids: &[MessageIdData]) {
        self.ack_and_wait(consumer_id, AckType::Individual, ids).await.unwrap();
    }

    /// An ACK that waits for its answer, whatever it says.
    pub(crate) async fn try_ack(&mut self, command: CommandAck) -> Result<BaseCommand, Error> {
        self.try_ask(|request_id| CommandAck { request_id: Some(request_id), ..command }).await
    }

    /// What the broker says of a consumer.
    pub(crate) async fn stats(&mut self, consumer_id: u64) -> CommandConsumerStatsResponse {
        let answer = self.ask(|request_id| CommandConsumerStats { request_id, consumer_id }).await;
        *answer.consumer_stats_response.unwrap()
    }

    /// Whatever this connection's shard already had for it has come when this returns.
    pub(crate) async fn settle_broker(&mut self) {
        for _ in 0..3 {
            self.send(CommandPing {}).await.unwrap();
            self.await_kind(Type::Pong).await.unwrap();
        }
    }

    /// Everything a consumer has caused so far has come when this returns.
    pub(crate) async fn settle(&mut self, consumer_id: u64) {
        for _ in 0..3 {
            self.stats(consumer_id).await;
            self.send(CommandPing {}).await.unwrap();
            self.await_kind(Type::Pong).await.unwrap();
        }
    }

    /// The frames that have come and were not asked for.
    pub(crate) async fn arrived(&mut self) -> Vec<Received> {
        let mut frames = Vec::new();
        loop {
            match self.receive_within(Duration::ZERO).await {
                Ok(frame) => frames.push(frame),
                Err(Error::Silence(_)) => return frames,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Makes sure that a consumer is sent nothing.
    pub(crate) async fn nothing_for(&mut self, consumer_id: u64) {
        self.settle(consumer_id).await;
        let frames = self.arrived().await;
        assert!(frames.is_empty(), "{frames:?}");
    }

    /// Makes sure that a consumer is sent nothing but what is of one kind.
    pub(crate) async fn nothing_for_but(&mut self, consumer_id: u64, kind: Type) {
        self.settle(consumer_id).await;
        let frames = self.arrived().await;
        assert!(frames.iter().all(|frame| frame.kind() == kind), "{frames:?}");
    }
}

/// Runs `work` while `holder` answers whoever asks whether it is alive.
pub(crate) async fn while_alive<T>(holder: &mut Session, work: impl Future<Output = T>) -> T {
    tokio::select! {
        done = work => done,
        frame = holder.receive() => panic!("unexpected: {frame:?}"),
    }
}

/// Why a request was refused.
pub(crate) fn refusal<T: std::fmt::Debug>(answer: Result<T, Error>) -> (ServerError, String) {
    match answer {
        Err(Error::Refused { code, message }) => (code, message),
        other => panic!("not a refusal: {other:?}"),
    }
}
