//! Commands, as a broker reads them.

use prost::Message as _;

use crate::{
    DecodeError,
    field::{Fields, Value, required},
    proto::{BaseCommand, base_command::Type},
    required,
};

mod ack;
mod flow;
mod message_id;
mod redeliver;
mod send;

pub use ack::{Ack, AckProperties};
pub use flow::Flow;
pub use message_id::{AckSet, MessageId, MessageIds};
pub use redeliver::Redeliver;
pub use send::Send;

pub use crate::proto::command_ack::{AckType, ValidationError};

/// A transaction's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxnId {
    /// The coordinator that made it.
    pub most_bits: u64,
    /// The coordinator's sequence number.
    pub least_bits: u64,
}

/// A decoded command. What a busy connection consists of is borrowed from the frame, the rest is owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Command<'a> {
    /// A message to publish; its payload follows in the frame.
    Send(Send<'a>),
    /// Messages are done with.
    Ack(Ack<'a>),
    /// More messages are welcome.
    Flow(Flow),
    /// Messages are wanted again.
    Redeliver(Redeliver<'a>),
    /// To be answered with PONG at once.
    Ping,
    /// The answer to a PING.
    Pong,
    /// Any other command; the body its type stands for is present, and so are all required fields.
    Other(Box<BaseCommand>),
    /// A command of a type that this protocol version does not know. Brokers ignore it.
    Unknown(i32),
}

impl<'a> Command<'a> {
    /// Decodes the command of a frame.
    ///
    /// Only the body that the type stands for is looked into, unless the command becomes [`Command::Other`].
    pub fn decode(command: &'a [u8]) -> Result<Self, DecodeError> {
        let envelope = Envelope::open(command)?;
        let Ok(kind) = Type::try_from(envelope.kind) else { return Ok(Self::Unknown(envelope.kind)) };
        match kind {
            Type::Send => Send::decode(envelope.body()?).map(Self::Send),
            Type::Ack => Ack::decode(envelope.body()?).map(Self::Ack),
            Type::Flow => Flow::decode(envelope.body()?).map(Self::Flow),
            Type::RedeliverUnacknowledgedMessages => Redeliver::decode(envelope.body()?).map(Self::Redeliver),
            // Their bodies are empty, and not missed when absent.
            Type::Ping => Ok(Self::Ping),
            Type::Pong => Ok(Self::Pong),
            _ => {
                envelope.body()?;
                required::check_command(command)?;
                Ok(Self::Other(Box::new(BaseCommand::decode(command)?)))
            }
        }
    }
}

/// A command's type and the fields that may be its body.
struct Envelope<'a> {
    command: &'a [u8],
    kind: i32,
    /// The only field besides the type, if that is so.
    only: Option<(u32, &'a [u8])>,
}

impl<'a> Envelope<'a> {
    #[inline]
    fn open(command: &'a [u8]) -> Result<Self, DecodeError> {
        let (mut kind, mut only, mut others) = (None, None, 0);
        let mut fields = Fields::new(command);
        while let Some(field) = fields.next()? {
            match field.value {
                _ if field.number == 1 => kind = Some(field.i32()?),
                Value::Bytes(bytes) => {
                    only = Some((field.number, bytes));
                    others += 1;
                }
                _ => others += 1,
            }
        }
        let kind = required(kind, "BaseCommand.type")?;
        Ok(Self { command, kind, only: only.filter(|_| others == 1) })
    }

    /// The body: a type's number is the number of the field that holds it.
    #[inline]
    fn body(&self) -> Result<&'a [u8], DecodeError> {
        match self.only {
            Some((number, body)) if i64::from(number) == i64::from(self.kind) => Ok(body),
            _ => self.find_body(),
        }
    }

    #[cold]
    fn find_body(&self) -> Result<&'a [u8], DecodeError> {
        let mut body = None;
        let mut fields = Fields::new(self.command);
        while let Some(field) = fields.next()? {
            if i64::from(field.number) == i64::from(self.kind) && body.replace(field.bytes()?).is_some() {
                return Err(DecodeError::RepeatedBody(self.kind));
            }
        }
        body.ok_or(DecodeError::MissingBody(self.kind))
    }
}

/// A transaction id, if both halves are present.
fn txn_id(most_bits: Option<u64>, least_bits: Option<u64>) -> Option<TxnId> {
    Some(TxnId { most_bits: most_bits?, least_bits: least_bits? })
}

#[cfg(test)]
mod tests;
