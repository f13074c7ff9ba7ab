//! Message metadata: what the producer says of a message, and the part of it a broker reads.

use crate::{
    DecodeError,
    command::TxnId,
    field::{Fields, required},
    proto::CompressionType,
    required,
};

/// The encoded metadata of a message or batch, read without copying.
///
/// What is not here stays in the encoded bytes, which are stored and delivered as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageMetadata<'a> {
    /// The producer's name.
    pub producer_name: &'a str,
    /// The (lowest) sequence id.
    pub sequence_id: u64,
    /// The highest sequence id of a batch.
    pub highest_sequence_id: Option<u64>,
    /// When the producer sent it, in ms since the Unix epoch.
    pub publish_time: u64,
    /// When it happened according to the application, in ms since the Unix epoch.
    pub event_time: Option<u64>,
    /// When it is due, in ms since the Unix epoch.
    pub deliver_at_time: Option<i64>,
    /// Messages in the batch. Presence tells a batch, even of one message, from a message on its own.
    pub num_messages_in_batch: Option<i32>,
    /// The key, base64 if [`partition_key_b64_encoded`](Self::partition_key_b64_encoded).
    pub partition_key: Option<&'a str>,
    /// The key is binary.
    pub partition_key_b64_encoded: bool,
    /// The key is null, which is not the same as absent or empty.
    pub null_partition_key: bool,
    /// The key that orders delivery in place of the partition key.
    pub ordering_key: Option<&'a [u8]>,
    /// What the payload was compressed with: a number of `CompressionType`, or one not known.
    pub compression: i32,
    /// Size of the payload before compression.
    pub uncompressed_size: u32,
    /// The payload is encrypted.
    pub encrypted: bool,
    /// The message has no value: for compaction, it deletes its key.
    pub null_value: bool,
    /// The version of the schema the payload follows.
    pub schema_version: Option<&'a [u8]>,
    /// The cluster it was replicated from.
    pub replicated_from: Option<&'a str>,
    /// The kind of marker it is: no message of an application, never to be delivered.
    pub marker_type: Option<i32>,
    /// The transaction it belongs to.
    pub txn: Option<TxnId>,
    /// Identifies the chunked message it is a part of.
    pub uuid: Option<&'a str>,
    /// Its place among the chunks, from 0.
    pub chunk_id: Option<i32>,
    /// Chunks of the whole message.
    pub num_chunks_from_msg: Option<i32>,
    /// Size of the whole message.
    pub total_chunk_msg_size: Option<i32>,
}

impl<'a> MessageMetadata<'a> {
    /// Reads encoded metadata. Fields that are not shown are skipped without a look inside.
    pub fn peek(metadata: &'a [u8]) -> Result<Self, DecodeError> {
        let (mut producer_name, mut sequence_id, mut publish_time) = (None, None, None);
        let (mut most_bits, mut least_bits) = (None, None);
        let mut this = Self::EMPTY;
        let mut fields = Fields::new(metadata);
        while let Some(field) = fields.next()? {
            match field.number {
                1 => producer_name = Some(field.str()?),
                2 => sequence_id = Some(field.u64()?),
                3 => publish_time = Some(field.u64()?),
                5 => this.replicated_from = Some(field.str()?),
                6 => this.partition_key = Some(field.str()?),
                8 => this.compression = field.i32()?,
                9 => this.uncompressed_size = field.u32()?,
                11 => this.num_messages_in_batch = Some(field.i32()?),
                12 => this.event_time = Some(field.u64()?),
                13 => this.encrypted = field.bytes().map(|_| true)?,
                16 => this.schema_version = Some(field.bytes()?),
                17 => this.partition_key_b64_encoded = field.bool()?,
                18 => this.ordering_key = Some(field.bytes()?),
                19 => this.deliver_at_time = Some(field.i64()?),
                20 => this.marker_type = Some(field.i32()?),
                22 => least_bits = Some(field.u64()?),
                23 => most_bits = Some(field.u64()?),
                24 => this.highest_sequence_id = Some(field.u64()?),
                25 => this.null_value = field.bool()?,
                26 => this.uuid = Some(field.str()?),
                27 => this.num_chunks_from_msg = Some(field.i32()?),
                28 => this.total_chunk_msg_size = Some(field.i32()?),
                29 => this.chunk_id = Some(field.i32()?),
                30 => this.null_partition_key = field.bool()?,
                _ => {}
            }
        }
        this.producer_name = required(producer_name, "MessageMetadata.producer_name")?;
        this.sequence_id = required(sequence_id, "MessageMetadata.sequence_id")?;
        this.publish_time = required(publish_time, "MessageMetadata.publish_time")?;
        this.txn = most_bits.zip(least_bits).map(|(most_bits, least_bits)| TxnId { most_bits, least_bits });
        Ok(this)
    }

    /// Whether the payload is a batch, once decompressed and decrypted.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.num_messages_in_batch.is_some()
    }

    /// How many messages the entry counts for, at least 1.
    #[must_use]
    pub fn num_messages(&self) -> u32 {
        self.num_messages_in_batch.and_then(|count| u32::try_from(count).ok()).map_or(1, |count| count.max(1))
    }

    /// What the payload was compressed with, `None` if that is not known here.
    #[must_use]
    pub fn compression(&self) -> Option<CompressionType> {
        CompressionType::try_from(self.compression).ok()
    }

    const EMPTY: Self = Self {
        producer_name: "",
        sequence_id: 0,
        highest_sequence_id: None,
        publish_time: 0,
        event_time: None,
        deliver_at_time: None,
        num_messages_in_batch: None,
        partition_key: None,
        partition_key_b64_encoded: false,
        null_partition_key: false,
        ordering_key: None,
        compression: CompressionType::None as i32,
        uncompressed_size: 0,
        encrypted: false,
        null_value: false,
        schema_version: None,
        replicated_from: None,
        marker_type: None,
        txn: None,
        uuid: None,
        chunk_id: None,
        num_chunks_from_msg: None,
        total_chunk_msg_size: None,
    };
}

/// Decodes all of a message's metadata, for tools and filters that need its properties or encryption keys.
pub fn decode(metadata: &[u8]) -> Result<crate::proto::MessageMetadata, DecodeError> {
    required::check_metadata(metadata)?;
    Ok(prost::Message::decode(metadata)?)
}
