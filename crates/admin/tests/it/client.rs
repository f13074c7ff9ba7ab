//! A client of the binary protocol, just enough to have producers, consumers and messages.

use bytes::{Bytes, BytesMut};
use plerion_wire::proto::{
    BaseCommand, CommandConnect, CommandFlow, CommandProducer, CommandSend, CommandSubscribe, KeyValue,
    MessageMetadata, base_command::Type, command_subscribe::SubType,
};
use plerion_wire::{checksum, encode, frame};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::World;

pub(crate) struct Client {
    stream: TcpStream,
    read: BytesMut,
    sequence: u64,
}

impl Client {
    pub(crate) async fn connect(world: &World) -> Self {
        let stream = TcpStream::connect(world.pulsar()).await.unwrap();
        let mut client = Self { stream, read: BytesMut::new(), sequence: 0 };
        let connect =
            CommandConnect { client_version: "it-1".into(), protocol_version: Some(21), ..CommandConnect::default() };
        client.send(connect.into()).await;
        client.expect(Type::Connected).await;
        client
    }

    async fn send(&mut self, command: BaseCommand) {
        let mut out = BytesMut::new();
        encode::command(&command, &mut out);
        self.stream.write_all(&out).await.unwrap();
    }

    /// The next command of a type; others are passed over, but not errors.
    async fn expect(&mut self, wanted: Type) -> BaseCommand {
        self.outcome(wanted).await.unwrap()
    }

    /// The next command of a type, or what an error before it says.
    async fn outcome(&mut self, wanted: Type) -> Result<BaseCommand, String> {
        loop {
            while let Some(frame) = frame::take(&mut self.read, frame::limit(5 << 20)).unwrap() {
                let parsed = plerion_wire::Frame::parse(&frame).unwrap();
                let command = BaseCommand::decode(parsed.command).unwrap();
                if let Some(error) = command.error {
                    return Err(error.message);
                }
                if command.r#type() == wanted {
                    return Ok(command);
                }
            }
            assert_ne!(self.stream.read_buf(&mut self.read).await.unwrap(), 0, "closed");
        }
    }

    pub(crate) async fn produce(&mut self, topic: &str) {
        self.try_produce(topic, 1).await.unwrap();
    }

    /// Opens a producer, or gives what the broker says against it.
    pub(crate) async fn try_produce(&mut self, topic: &str, id: u64) -> Result<(), String> {
        let producer = CommandProducer { topic: topic.into(), producer_id: id, request_id: id, ..Default::default() };
        self.send(producer.into()).await;
        self.outcome(Type::ProducerSuccess).await.map(drop)
    }

    pub(crate) async fn subscribe(&mut self, topic: &str, subscription: &str) {
        self.try_subscribe(topic, subscription, 1).await.unwrap();
        self.send(CommandFlow { consumer_id: 1, message_permits: 100 }.into()).await;
    }

    /// Attaches a consumer that asks for nothing, or gives what the broker says against it.
    pub(crate) async fn try_subscribe(&mut self, topic: &str, subscription: &str, id: u64) -> Result<(), String> {
        let subscribe = CommandSubscribe {
            topic: topic.into(),
            subscription: subscription.into(),
            sub_type: SubType::Shared.into(),
            consumer_id: id,
            request_id: 100 + id,
            consumer_name: Some("consumer".into()),
            ..Default::default()
        };
        self.send(subscribe.into()).await;
        self.outcome(Type::Success).await.map(drop)
    }

    /// Publishes a message, or a batch of `batch` messages, and waits for the receipt.
    pub(crate) async fn publish(&mut self, body: &[u8], batch: Option<i32>) {
        let metadata = MessageMetadata {
            producer_name: "it".into(),
            sequence_id: self.sequence,
            publish_time: 1_000 + self.sequence,
            num_messages_in_batch: batch,
            properties: vec![KeyValue { key: "colour".into(), value: "red".into() }],
            ..Default::default()
        }
        .encode_to_vec();
        let mut checked = BytesMut::new();
        checked.extend_from_slice(&u32::try_from(metadata.len()).unwrap().to_be_bytes());
        checked.extend_from_slice(&metadata);
        checked.extend_from_slice(body);
        let mut payload = BytesMut::from(&[0x0e, 0x01][..]);
        payload.extend_from_slice(&checksum::crc32c(&checked).to_be_bytes());
        payload.extend_from_slice(&checked);
        let send = CommandSend {
            producer_id: 1,
            sequence_id: self.sequence,
            num_messages: Some(batch.unwrap_or(1)),
            ..Default::default()
        };
        self.sequence += 1;
        let mut out = BytesMut::new();
        encode::command_with_payload(&send.into(), payload.len(), &mut out);
        out.extend_from_slice(&Bytes::from(payload));
        self.stream.write_all(&out).await.unwrap();
        self.expect(Type::SendReceipt).await;
    }
}
