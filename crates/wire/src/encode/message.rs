use bytes::BufMut;

use super::body::{Body, put_head};
use crate::proto::base_command::Type;

/// MESSAGE: an entry on its way to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The consumer, as numbered on its connection.
    pub consumer_id: u64,
    /// The ledger.
    pub ledger_id: u64,
    /// The entry in the ledger.
    pub entry_id: u64,
    /// The topic's partition, -1 if it has none.
    pub partition: i32,
    /// How often the entry was delivered before.
    pub redelivery_count: u32,
    /// Which messages of the entry's batch are still open (see [`AckSet`](crate::command::AckSet)), empty for all.
    pub ack_set: &'a [u64],
    /// The consumer's epoch, if it has one.
    pub consumer_epoch: Option<u64>,
}

/// Writes what comes before the payload part, which must follow and takes `payload_len` bytes.
///
/// The entry itself need not be copied: header and payload part can be sent with one vectored write.
pub fn message_header(message: &Message<'_>, payload_len: usize, out: &mut impl BufMut) {
    let mut id = Body::new();
    id.varint(1, message.ledger_id);
    id.varint(2, message.entry_id);
    if message.partition != -1 {
        id.varint(3, i64::from(message.partition) as u64);
    }
    let mut body = Body::new();
    body.varint(1, message.consumer_id);
    body.nested(2, &id);
    if message.redelivery_count != 0 {
        body.varint(3, u64::from(message.redelivery_count));
    }
    if let Some(epoch) = message.consumer_epoch {
        body.varint(5, epoch);
    }
    body.reserve_tail(message.ack_set.iter().map(|word| 1 + varint_len(*word)).sum());
    put_head(Type::Message, &body, payload_len, out);
    for word in message.ack_set {
        let mut field = Body::new();
        field.varint(4, *word);
        out.put_slice(field.as_slice());
    }
}

/// Bytes a number takes: one per seven bits.
fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}
