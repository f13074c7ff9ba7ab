use super::{AckType, MessageIds, TxnId, ValidationError, txn_id};
use crate::{
    DecodeError,
    field::{Fields, required},
};

/// ACK: a consumer is done with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The consumer, as numbered on its connection.
    pub consumer_id: u64,
    /// Whether each message is meant, or one message and all before it.
    pub ack_type: AckType,
    /// The messages.
    pub message_ids: MessageIds<'a>,
    /// Why the consumer had to throw the message away, if it did.
    pub validation_error: Option<ValidationError>,
    /// Values to keep with the subscription's position.
    pub properties: AckProperties<'a>,
    /// The transaction the acknowledgement belongs to.
    pub txn: Option<TxnId>,
    /// The request to answer with ACK_RESPONSE; without one there is no answer.
    pub request_id: Option<u64>,
}

impl<'a> Ack<'a> {
    const MESSAGE_IDS: u32 = 3;

    pub(super) fn decode(body: &'a [u8]) -> Result<Self, DecodeError> {
        let (mut consumer_id, mut ack_type, mut validation_error) = (None, None, None);
        let (mut most_bits, mut least_bits, mut request_id) = (None, None, None);
        let mut message_ids = MessageIds::none(body, Self::MESSAGE_IDS);
        let mut properties = AckProperties { ack: &[] };
        let mut fields = Fields::new(body);
        while let Some(field) = fields.next()? {
            match field.number {
                1 => consumer_id = Some(field.u64()?),
                2 => ack_type = AckType::try_from(field.i32()?).ok().or(ack_type),
                Self::MESSAGE_IDS => message_ids.count(field.bytes()?)?,
                4 => validation_error = ValidationError::try_from(field.i32()?).ok().or(validation_error),
                AckProperties::FIELD => {
                    decode_property(field.bytes()?)?;
                    properties.ack = body;
                }
                6 => least_bits = Some(field.u64()?),
                7 => most_bits = Some(field.u64()?),
                8 => request_id = Some(field.u64()?),
                _ => {}
            }
        }
        Ok(Self {
            consumer_id: required(consumer_id, "CommandAck.consumer_id")?,
            ack_type: required(ack_type, "CommandAck.ack_type")?,
            message_ids,
            validation_error,
            properties,
            txn: txn_id(most_bits, least_bits),
            request_id,
        })
    }
}

/// The properties of an [`Ack`], decoded as they are iterated over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckProperties<'a> {
    /// The validated body of the command, empty if it has no properties.
    ack: &'a [u8],
}

impl<'a> AckProperties<'a> {
    const FIELD: u32 = 5;

    /// Iterates over keys and values.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, u64)> {
        let mut fields = Fields::new(self.ack);
        std::iter::from_fn(move || {
            loop {
                let field = fields.next().ok()??;
                if field.number == Self::FIELD {
                    return decode_property(field.bytes().ok()?).ok();
                }
            }
        })
    }
}

fn decode_property(bytes: &[u8]) -> Result<(&str, u64), DecodeError> {
    let (mut key, mut value) = (None, None);
    let mut fields = Fields::new(bytes);
    while let Some(field) = fields.next()? {
        match field.number {
            1 => key = Some(field.str()?),
            2 => value = Some(field.u64()?),
            _ => {}
        }
    }
    Ok((required(key, "KeyLongValue.key")?, required(value, "KeyLongValue.value")?))
}
