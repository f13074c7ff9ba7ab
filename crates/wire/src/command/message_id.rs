use std::fmt;

use crate::{
    DecodeError,
    field::{Field, Fields, Value, required},
};

/// The position of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId<'a> {
    /// The ledger.
    pub ledger_id: u64,
    /// The entry in the ledger.
    pub entry_id: u64,
    /// The topic's partition, -1 if it has none.
    pub partition: i32,
    /// The message in the entry's batch, -1 for the whole entry.
    pub batch_index: i32,
    /// Messages in the entry's batch.
    pub batch_size: Option<i32>,
    /// Which messages of the batch are still open.
    pub ack_set: AckSet<'a>,
}

impl<'a> MessageId<'a> {
    const ACK_SET: u32 = 5;

    /// A chunked message's id holds the id of its first chunk; that one holds none.
    const MAX_DEPTH: usize = 16;

    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_nested(bytes, 0)
    }

    fn decode_nested(bytes: &'a [u8], depth: usize) -> Result<Self, DecodeError> {
        if depth > Self::MAX_DEPTH {
            return Err(DecodeError::TooDeep { limit: Self::MAX_DEPTH });
        }
        let (mut ledger_id, mut entry_id, mut batch_size) = (None, None, None);
        let (mut partition, mut batch_index) = (-1, -1);
        let mut ack_set = AckSet::default();
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.next()? {
            match field.number {
                1 => ledger_id = Some(field.u64()?),
                2 => entry_id = Some(field.u64()?),
                3 => partition = field.i32()?,
                4 => batch_index = field.i32()?,
                Self::ACK_SET => {
                    AckSet::check(field)?;
                    ack_set.id = bytes;
                }
                6 => batch_size = Some(field.i32()?),
                7 => {
                    Self::decode_nested(field.bytes()?, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(Self {
            ledger_id: required(ledger_id, "MessageIdData.ledgerId")?,
            entry_id: required(entry_id, "MessageIdData.entryId")?,
            partition,
            batch_index,
            batch_size,
            ack_set,
        })
    }
}

/// Which messages of a batch are still open: a bit set in 64-bit words, lowest message first. Empty if the whole entry
/// is meant.
#[derive(Clone, Copy, Default)]
pub struct AckSet<'a> {
    /// The validated message id, empty if it has no ack set.
    id: &'a [u8],
}

impl<'a> AckSet<'a> {
    /// Whether there is no set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.iter().next().is_none()
    }

    /// Iterates over the words.
    pub fn iter(self) -> impl Iterator<Item = u64> + use<'a> {
        let mut fields = Fields::new(self.id);
        let mut packed = Fields::new(&[]);
        std::iter::from_fn(move || {
            loop {
                if !packed.is_empty() {
                    return packed.varint().ok();
                }
                let field = fields.next().ok()??;
                match field.value {
                    Value::Varint(word) if field.number == MessageId::ACK_SET => return Some(word),
                    Value::Bytes(words) if field.number == MessageId::ACK_SET => packed = Fields::new(words),
                    _ => {}
                }
            }
        })
    }

    /// Words come one by one, or packed together.
    fn check(field: Field<'_>) -> Result<(), DecodeError> {
        match field.value {
            Value::Varint(_) => Ok(()),
            Value::Bytes(words) => {
                let mut words = Fields::new(words);
                while !words.is_empty() {
                    words.varint()?;
                }
                Ok(())
            }
            Value::Fixed => Err(DecodeError::WrongWireType(field.number)),
        }
    }
}

impl PartialEq for AckSet<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for AckSet<'_> {}

impl fmt::Debug for AckSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The message ids of a command, decoded as they are iterated over.
#[derive(Clone, Copy)]
pub struct MessageIds<'a> {
    /// The body of the command.
    body: &'a [u8],
    /// The number of the field that holds the ids.
    field: u32,
    len: usize,
}

impl<'a> MessageIds<'a> {
    pub(super) fn none(body: &'a [u8], field: u32) -> Self {
        Self { body, field, len: 0 }
    }

    /// Validates one more id, so that iteration cannot fail.
    pub(super) fn count(&mut self, id: &[u8]) -> Result<(), DecodeError> {
        MessageId::decode(id)?;
        self.len += 1;
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Iterates over them, in the order they were sent.
    pub fn iter(self) -> impl Iterator<Item = MessageId<'a>> + use<'a> {
        let mut fields = Fields::new(self.body);
        std::iter::from_fn(move || {
            loop {
                let field = fields.next().ok()??;
                if field.number == self.field {
                    return MessageId::decode(field.bytes().ok()?).ok();
                }
            }
        })
    }
}

impl PartialEq for MessageIds<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for MessageIds<'_> {}

impl fmt::Debug for MessageIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
