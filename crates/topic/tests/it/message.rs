//! What clients send.

use bytes::{BufMut, Bytes, BytesMut};
use plerion_subscription::Position;
use plerion_topic::Consumer;
use plerion_wire::Command;
use plerion_wire::command::Send;
use plerion_wire::proto::command_ack::AckType;
use plerion_wire::proto::{self, BaseCommand};
use prost::Message as _;

use crate::world::START;

/// A message to publish.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) sequence: u64,
    pub(crate) body: String,
    pub(crate) key: Option<String>,
    pub(crate) batch: Option<i32>,
    pub(crate) deliver_at: Option<u64>,
    pub(crate) published: u64,
    pub(crate) is_marker: bool,
    /// The message's uuid, the chunk's number and how many there are.
    pub(crate) chunk: Option<(String, i32, i32)>,
}

impl Outgoing {
    pub(crate) fn new(sequence: u64) -> Self {
        Self { sequence, body: sequence.to_string(), published: START, ..Self::default() }
    }

    pub(crate) fn command(&self, producer_id: u64) -> Send<'static> {
        Send {
            producer_id,
            sequence_id: self.sequence,
            highest_sequence_id: self.highest(),
            num_messages: self.batch.unwrap_or(1),
            txn: None,
            is_chunk: self.chunk.is_some(),
            marker: false,
            message_id: None,
        }
    }

    fn highest(&self) -> Option<u64> {
        self.batch.map(|size| self.sequence + size as u64 - 1)
    }

    pub(crate) fn payload(&self, producer_name: &str) -> Bytes {
        let chunk = self.chunk.clone();
        let metadata = proto::MessageMetadata {
            producer_name: producer_name.to_owned(),
            sequence_id: self.sequence,
            highest_sequence_id: self.highest(),
            publish_time: self.published,
            partition_key: self.key.clone(),
            num_messages_in_batch: self.batch,
            deliver_at_time: self.deliver_at.map(u64::cast_signed),
            marker_type: self.is_marker.then_some(1),
            uuid: chunk.as_ref().map(|(uuid, ..)| uuid.clone()),
            chunk_id: chunk.as_ref().map(|(_, id, _)| *id),
            num_chunks_from_msg: chunk.map(|(.., count)| count),
            ..proto::MessageMetadata::default()
        }
        .encode_to_vec();
        let mut checked = BytesMut::new();
        checked.put_u32(metadata.len() as u32);
        checked.put_slice(&metadata);
        checked.put_slice(self.body.as_bytes());
        let mut payload = BytesMut::new();
        payload.put_slice(&[0x0e, 0x01]);
        payload.put_u32(plerion_wire::checksum::crc32c(&checked));
        payload.put_slice(&checked);
        payload.freeze()
    }
}

/// Has `consumer` handle a command as it comes from its client.
fn receive(consumer: &Consumer, command: impl Into<BaseCommand>) {
    match Command::decode(&command.into().encode_to_vec()).unwrap() {
        Command::Ack(ack) => consumer.acknowledge(&ack),
        Command::Redeliver(request) => consumer.redeliver(&request),
        other => panic!("not a command of consumers: {other:?}"),
    }
}

/// A message id, and of a batch the messages that are left.
pub(crate) fn id(position: Position, left: Option<(&[i64], i32)>) -> proto::MessageIdData {
    proto::MessageIdData {
        ledger_id: position.ledger.cast_unsigned(),
        entry_id: position.entry.cast_unsigned(),
        ack_set: left.map(|(words, _)| words.to_vec()).unwrap_or_default(),
        batch_size: left.map(|(_, size)| size),
        ..proto::MessageIdData::default()
    }
}

fn ack_command(consumer: &Consumer, kind: AckType, ids: Vec<proto::MessageIdData>) -> proto::CommandAck {
    proto::CommandAck {
        consumer_id: consumer.id,
        ack_type: kind.into(),
        message_id: ids,
        ..proto::CommandAck::default()
    }
}

pub(crate) fn ack(consumer: &Consumer, positions: impl IntoIterator<Item = Position>) {
    let ids = positions.into_iter().map(|position| id(position, None)).collect();
    receive(consumer, ack_command(consumer, AckType::Individual, ids));
}

pub(crate) fn ack_batch(consumer: &Consumer, position: Position, left: &[i64], size: i32) {
    receive(consumer, ack_command(consumer, AckType::Individual, vec![id(position, Some((left, size)))]));
}

pub(crate) fn ack_up_to(consumer: &Consumer, position: Position) {
    receive(consumer, ack_command(consumer, AckType::Cumulative, vec![id(position, None)]));
}

/// Acknowledges and wants to hear when that is durable.
pub(crate) fn ack_with_request(consumer: &Consumer, positions: impl IntoIterator<Item = Position>, request: u64) {
    let ids = positions.into_iter().map(|position| id(position, None)).collect();
    let command = ack_command(consumer, AckType::Individual, ids);
    receive(consumer, proto::CommandAck { request_id: Some(request), ..command });
}

pub(crate) fn redeliver(consumer: &Consumer, positions: impl IntoIterator<Item = Position>, epoch: Option<u64>) {
    receive(
        consumer,
        proto::CommandRedeliverUnacknowledgedMessages {
            consumer_id: consumer.id,
            message_ids: positions.into_iter().map(|position| id(position, None)).collect(),
            consumer_epoch: epoch,
        },
    );
}
