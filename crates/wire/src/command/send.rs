use super::{MessageId, TxnId, txn_id};
use crate::{
    DecodeError,
    field::{Fields, required},
};

/// SEND: a message to publish, or several in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send<'a> {
    /// The producer, as numbered on its connection.
    pub producer_id: u64,
    /// The (lowest) sequence id of the message(s).
    pub sequence_id: u64,
    /// The highest sequence id of a batch.
    pub highest_sequence_id: Option<u64>,
    /// Messages in the payload as the producer counts them, 1 if it does not say.
    pub num_messages: i32,
    /// The transaction the message belongs to.
    pub txn: Option<TxnId>,
    /// The payload is one chunk of a larger message.
    pub is_chunk: bool,
    /// The message is a marker of the broker's own making.
    pub marker: bool,
    /// The message's position in the topic that is being replicated into this one.
    pub message_id: Option<MessageId<'a>>,
}

impl<'a> Send<'a> {
    #[inline]
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, DecodeError> {
        let (mut producer_id, mut sequence_id, mut highest_sequence_id) = (None, None, None);
        let (mut most_bits, mut least_bits) = (None, None);
        let (mut num_messages, mut is_chunk, mut marker, mut message_id) = (1, false, false, None);
        let mut fields = Fields::new(body);
        while let Some(field) = fields.next()? {
            match field.number {
                1 => producer_id = Some(field.u64()?),
                2 => sequence_id = Some(field.u64()?),
                3 => num_messages = field.i32()?,
                4 => least_bits = Some(field.u64()?),
                5 => most_bits = Some(field.u64()?),
                6 => highest_sequence_id = Some(field.u64()?),
                7 => is_chunk = field.bool()?,
                8 => marker = field.bool()?,
                9 => message_id = Some(MessageId::decode(field.bytes()?)?),
                _ => {}
            }
        }
        Ok(Self {
            producer_id: required(producer_id, "CommandSend.producer_id")?,
            sequence_id: required(sequence_id, "CommandSend.sequence_id")?,
            highest_sequence_id,
            num_messages,
            txn: txn_id(most_bits, least_bits),
            is_chunk,
            marker,
            message_id,
        })
    }
}
