use bytes::Bytes;
use plerion_wire::batch;
use plerion_wire::proto::{BrokerEntryMetadata, CommandMessage, MessageIdData, MessageMetadata};
use plerion_wire::{DecodeError, Payload};
use prost::Message as _;

use crate::{Error, Position};

/// A delivered entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// The consumer, as numbered on its connection.
    pub consumer: u64,
    /// Where the entry is.
    pub position: Position,
    /// The id as it came, to be acknowledged with.
    pub id: MessageIdData,
    /// How often it was delivered before.
    pub redeliveries: u32,
    /// Which messages of the batch are to be looked at; empty for all.
    pub ack_set: Vec<i64>,
    /// The consumer's epoch, if it told one.
    pub consumer_epoch: Option<u64>,
    /// Whether a checksum came with it.
    pub has_checksum: bool,
    /// What the broker added.
    pub broker_entry: Option<BrokerEntryMetadata>,
    /// The metadata.
    pub metadata: MessageMetadata,
    /// The message, or the batch.
    pub body: Bytes,
}

/// A message of a delivered entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Single {
    /// Its sequence id.
    pub sequence_id: u64,
    /// Its key.
    pub key: Option<String>,
    /// Its body.
    pub body: Bytes,
}

impl Incoming {
    /// Reads what came with a MESSAGE and checks its checksum, if there is one.
    pub(crate) fn read(message: &CommandMessage, bytes: &Bytes) -> Result<Self, Error> {
        let payload = Payload::parse(bytes)?;
        payload.verify()?;
        Ok(Self {
            consumer: message.consumer_id,
            position: Position::from(&message.message_id),
            id: message.message_id.clone(),
            redeliveries: message.redelivery_count(),
            ack_set: message.ack_set.clone(),
            consumer_epoch: message.consumer_epoch,
            has_checksum: payload.checksum.is_some(),
            broker_entry: payload.decode_broker_entry()?,
            metadata: MessageMetadata::decode(payload.metadata).map_err(DecodeError::from)?,
            body: bytes.slice_ref(payload.body),
        })
    }

    /// The messages of the entry, uncompressed ones only: all of a batch, or the one.
    ///
    /// # Panics
    /// When it is a batch that cannot be read.
    pub fn messages(&self) -> Vec<Single> {
        if self.metadata.num_messages_in_batch.is_none() {
            return vec![Single {
                sequence_id: self.metadata.sequence_id,
                key: self.metadata.partition_key.clone(),
                body: self.body.clone(),
            }];
        }
        let single = |message: Result<batch::SingleMessage<'_>, _>| {
            let message = message.expect("a batch that can be read");
            Single {
                sequence_id: message.sequence_id.unwrap_or(self.metadata.sequence_id),
                key: message.partition_key.map(str::to_owned),
                body: self.body.slice_ref(message.payload),
            }
        };
        batch::messages(&self.body).map(single).collect()
    }
}
