use crate::{
    DecodeError,
    field::{Fields, required},
};

/// FLOW: permission to send a consumer more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The consumer, as numbered on its connection.
    pub consumer_id: u64,
    /// Messages it takes in addition to those granted before.
    pub permits: u32,
}

impl Flow {
    pub(super) fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let (mut consumer_id, mut permits) = (None, None);
        let mut fields = Fields::new(body);
        while let Some(field) = fields.next()? {
            match field.number {
                1 => consumer_id = Some(field.u64()?),
                2 => permits = Some(field.u32()?),
                _ => {}
            }
        }
        Ok(Self {
            consumer_id: required(consumer_id, "CommandFlow.consumer_id")?,
            permits: required(permits, "CommandFlow.messagePermits")?,
        })
    }
}
