use super::MessageIds;
use crate::{
    DecodeError,
    field::{Fields, required},
};

/// REDELIVER_UNACKNOWLEDGED_MESSAGES: a consumer wants messages again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redeliver<'a> {
    /// The consumer, as numbered on its connection.
    pub consumer_id: u64,
    /// The messages; none means all that the consumer has not acknowledged.
    pub message_ids: MessageIds<'a>,
    /// The consumer's epoch after the request: what was sent under a lower one will be dropped.
    pub consumer_epoch: Option<u64>,
}

impl<'a> Redeliver<'a> {
    const MESSAGE_IDS: u32 = 2;

    pub(super) fn decode(body: &'a [u8]) -> Result<Self, DecodeError> {
        let (mut consumer_id, mut consumer_epoch) = (None, None);
        let mut message_ids = MessageIds::none(body, Self::MESSAGE_IDS);
        let mut fields = Fields::new(body);
        while let Some(field) = fields.next()? {
            match field.number {
                1 => consumer_id = Some(field.u64()?),
                Self::MESSAGE_IDS => message_ids.count(field.bytes()?)?,
                3 => consumer_epoch = Some(field.u64()?),
                _ => {}
            }
        }
        let consumer_id = required(consumer_id, "CommandRedeliverUnacknowledgedMessages.consumer_id")?;
        Ok(Self { consumer_id, message_ids, consumer_epoch })
    }
}
