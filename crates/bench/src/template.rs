//! SEND frames that are built once.
//!
//! Sequence ids start at 2²⁸ and publish times lie between 2³⁵ and 2⁴² ms, so their varints take five and six bytes
//! for as long as a run can last: a frame's layout never changes, only those bytes and the checksum do.

use std::num::NonZeroU32;

use crate::checksum::Appender;

/// The first sequence id of every producer.
pub(crate) const FIRST_SEQUENCE: u64 = 1 << 28;

const SEQUENCE_BYTES: usize = 5;
const TIME_BYTES: usize = 6;

/// What follows the head of every frame: the message, or the batch of equal messages.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    pub(crate) checksum: Appender,
}

impl Body {
    /// A body of `batch` messages of `size` bytes each.
    pub(crate) fn new(size: usize, batch: NonZeroU32) -> Self {
        // Not compressible to nothing, and the same in every run.
        let message: Vec<u8> = (0..size).map(|at| (at * 31 % 251) as u8).collect();
        let bytes = match batch.get() {
            1 => message,
            count => {
                let mut single = Vec::new();
                field(&mut single, 3, size as u64);
                let mut one = (single.len() as u32).to_be_bytes().to_vec();
                one.extend_from_slice(&single);
                one.extend_from_slice(&message);
                one.repeat(count as usize)
            }
        };
        let checksum = Appender::new(&bytes);
        Self { bytes, checksum }
    }
}

/// The head of a SEND frame: everything before the body.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    head: Vec<u8>,
    /// Where the first sequence id of the send is, and the last one if it is a batch.
    sequences: Vec<usize>,
    last_sequences: Vec<usize>,
    time: usize,
    checksum: usize,
    batch: u64,
}

impl Template {
    /// The frame of a producer for `body`, with a partition key if one is given.
    pub(crate) fn new(producer_id: u64, name: &str, key: Option<&str>, batch: NonZeroU32, body: &Body) -> Self {
        let batch = u64::from(batch.get());
        let mut send = Part::default();
        send.field(1, producer_id);
        send.hole(2, SEQUENCE_BYTES);
        if batch > 1 {
            send.field(3, batch);
            send.hole(6, SEQUENCE_BYTES);
        }
        let mut metadata = Part::default();
        metadata.bytes(1, name.as_bytes());
        metadata.hole(2, SEQUENCE_BYTES);
        metadata.hole(3, TIME_BYTES);
        if let Some(key) = key {
            metadata.bytes(6, key.as_bytes());
        }
        if batch > 1 {
            metadata.field(11, batch);
            metadata.hole(24, SEQUENCE_BYTES);
        }

        let mut command = vec![0x08, 6];
        varint(&mut command, 6 << 3 | 2);
        varint(&mut command, send.bytes.len() as u64);
        let send_at = 8 + command.len();
        command.extend_from_slice(&send.bytes);
        let checked = 8 + command.len() + 6;
        let metadata_at = checked + 4;
        let head_len = metadata_at + metadata.bytes.len();
        let mut head = Vec::with_capacity(head_len);
        head.extend_from_slice(&((head_len - 4 + body.bytes.len()) as u32).to_be_bytes());
        head.extend_from_slice(&(command.len() as u32).to_be_bytes());
        head.extend_from_slice(&command);
        head.extend_from_slice(&[0x0e, 0x01, 0, 0, 0, 0]);
        head.extend_from_slice(&(metadata.bytes.len() as u32).to_be_bytes());
        head.extend_from_slice(&metadata.bytes);

        let last_sequences = match (send.holes.get(1), metadata.holes.get(2)) {
            (Some(sent), Some(stored)) => vec![send_at + sent, metadata_at + stored],
            _ => Vec::new(),
        };
        Self {
            head,
            sequences: vec![send_at + send.holes[0], metadata_at + metadata.holes[0]],
            last_sequences,
            time: metadata_at + metadata.holes[1],
            checksum: checked - 4,
            batch,
        }
    }

    /// Appends the head of the send whose first message has this sequence id; the body is to follow it.
    #[inline]
    pub(crate) fn stamp(&mut self, sequence: u64, publish_ms: u64, body: &Body, out: &mut Vec<u8>) {
        for at in &self.sequences {
            put_fixed::<SEQUENCE_BYTES>(&mut self.head[*at..], sequence);
        }
        for at in &self.last_sequences {
            put_fixed::<SEQUENCE_BYTES>(&mut self.head[*at..], sequence + self.batch - 1);
        }
        put_fixed::<TIME_BYTES>(&mut self.head[self.time..], publish_ms);
        let sum = body.checksum.append(crc32c::crc32c(&self.head[self.checksum + 4..]));
        self.head[self.checksum..self.checksum + 4].copy_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(&self.head);
    }

    /// Bytes of the head.
    pub(crate) fn len(&self) -> usize {
        self.head.len()
    }
}

/// A message in the making, and where its holes are.
#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Part {
    fn field(&mut self, number: u64, value: u64) {
        field(&mut self.bytes, number, value);
    }

    fn bytes(&mut self, number: u64, value: &[u8]) {
        varint(&mut self.bytes, number << 3 | 2);
        varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// A varint field whose value takes `size` bytes and is put in later.
    fn hole(&mut self, number: u64, size: usize) {
        varint(&mut self.bytes, number << 3);
        self.holes.push(self.bytes.len());
        self.bytes.resize(self.bytes.len() + size, 0);
    }
}

fn field(out: &mut Vec<u8>, number: u64, value: u64) {
    varint(out, number << 3);
    varint(out, value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a varint that is known to take `SIZE` bytes.
#[inline]
fn put_fixed<const SIZE: usize>(out: &mut [u8], value: u64) {
    debug_assert!(value >> (7 * (SIZE - 1)) != 0 && value >> (7 * SIZE) == 0, "{value} does not take {SIZE} bytes");
    for (at, byte) in out[..SIZE].iter_mut().enumerate() {
        let more = if at + 1 < SIZE { 0x80 } else { 0 };
        *byte = (value >> (7 * at)) as u8 & 0x7f | more;
    }
}

#[cfg(test)]
mod tests {
    use plerion_wire::{Command, Frame, MessageMetadata, Payload, batch};

    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn one(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).expect("not zero")
    }

    fn frame(template: &mut Template, sequence: u64, body: &Body) -> Vec<u8> {
        let mut frame = Vec::new();
        template.stamp(sequence, NOW, body, &mut frame);
        assert_eq!(frame.len(), template.len());
        frame.extend_from_slice(&body.bytes);
        frame
    }

    #[test]
    fn a_single_message_is_a_valid_send() {
        let body = Body::new(1000, one(1));
        let mut template = Template::new(300, "producer", Some("key-1"), one(1), &body);
        for sequence in [FIRST_SEQUENCE, FIRST_SEQUENCE + 12_345_678_901] {
            let bytes = frame(&mut template, sequence, &body);
            let frame = Frame::parse(&bytes).expect("a frame");
            let Ok(Command::Send(send)) = Command::decode(frame.command) else { panic!("not a SEND") };
            assert_eq!((send.producer_id, send.sequence_id), (300, sequence));
            let payload = Payload::parse(frame.payload).expect("a payload");
            payload.verify().expect("the right checksum");
            assert_eq!(payload.body, body.bytes);
            let metadata = MessageMetadata::peek(payload.metadata).expect("metadata");
            assert_eq!((metadata.producer_name, metadata.sequence_id), ("producer", sequence));
            assert_eq!((metadata.publish_time, metadata.partition_key), (NOW, Some("key-1")));
            assert!(!metadata.is_batch());
        }
    }

    #[test]
    fn a_batch_is_a_valid_send() {
        let body = Body::new(100, one(50));
        let mut template = Template::new(1, "producer", None, one(50), &body);
        let bytes = frame(&mut template, FIRST_SEQUENCE, &body);
        let frame = Frame::parse(&bytes).expect("a frame");
        let payload = Payload::parse(frame.payload).expect("a payload");
        payload.verify().expect("the right checksum");
        let metadata = MessageMetadata::peek(payload.metadata).expect("metadata");
        assert_eq!(metadata.num_messages(), 50);
        assert_eq!(metadata.highest_sequence_id, Some(FIRST_SEQUENCE + 49));
        let messages: Vec<_> = batch::messages(payload.body).collect::<Result<_, _>>().expect("a batch");
        assert_eq!(messages.len(), 50);
    }
}
