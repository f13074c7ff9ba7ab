use bytes::{BufMut, BytesMut};
use plerion_wire::checksum::crc32c;
use plerion_wire::proto::{MessageMetadata, SingleMessageMetadata};
use prost::Message as _;

/// A message to be published.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Its metadata; may be changed before the payload part is made.
    pub metadata: MessageMetadata,
    /// Its body.
    pub body: Vec<u8>,
}

impl Outgoing {
    /// A message of one producer.
    pub fn new(producer: &str, sequence_id: u64, body: impl Into<Vec<u8>>) -> Self {
        let metadata = MessageMetadata {
            producer_name: producer.into(),
            sequence_id,
            publish_time: 1_700_000_000_000,
            ..Default::default()
        };
        Self { metadata, body: body.into() }
    }

    /// A batch: messages with consecutive sequence ids from `first` on.
    pub fn batch<'a>(producer: &str, first: u64, bodies: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut body = BytesMut::new();
        let mut count: u64 = 0;
        for part in bodies {
            let single = SingleMessageMetadata {
                payload_size: i32::try_from(part.len()).expect("messages of tests are small"),
                sequence_id: Some(first + count),
                ..Default::default()
            };
            body.put_u32(u32::try_from(single.encoded_len()).expect("a few numbers"));
            single.encode_raw(&mut body);
            body.put_slice(part);
            count += 1;
        }
        let mut batch = Self::new(producer, first, body.to_vec());
        batch.metadata.num_messages_in_batch = Some(i32::try_from(count).expect("batches of tests are small"));
        batch.metadata.highest_sequence_id = Some(first + count.saturating_sub(1));
        batch
    }

    /// With a key.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.metadata.partition_key = Some(key.into());
        self
    }

    /// The payload part: checksum, metadata, body.
    pub fn payload(&self) -> BytesMut {
        let checked = self.payload_without_checksum();
        let mut out = BytesMut::with_capacity(checked.len() + 6);
        out.put_slice(&[0x0e, 0x01]);
        out.put_u32(crc32c(&checked));
        out.put_slice(&checked);
        out
    }

    /// The payload part as old clients make it: metadata, body.
    pub fn payload_without_checksum(&self) -> BytesMut {
        let size = self.metadata.encoded_len();
        let mut out = BytesMut::with_capacity(size + self.body.len() + 4);
        out.put_u32(u32::try_from(size).expect("a few names and numbers"));
        self.metadata.encode_raw(&mut out);
        out.put_slice(&self.body);
        out
    }
}
