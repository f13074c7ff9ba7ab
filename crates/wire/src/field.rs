//! Reading of protobuf fields, one after the other, without copying.

use crate::DecodeError;

/// The fields of one encoded message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    pub(crate) value: Value<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// A fixed-width number; no hot message has one, so its bits are not kept.
    Fixed,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field, or `None` at the end of the message.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = match u32::try_from(key >> 3) {
            Ok(number @ 1..=0x1FFF_FFFF) => number,
            _ => return Err(DecodeError::InvalidKey(key)),
        };
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len)?)
            }
            1 => self.take(8).map(|_| Value::Fixed)?,
            5 => self.take(4).map(|_| Value::Fixed)?,
            wire_type => return Err(DecodeError::UnsupportedWireType { number, wire_type: wire_type as u8 }),
        };
        Ok(Some(Field { number, value }))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline(always)]
    fn take(&mut self, len: u64) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) =
            usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len)).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        match *self.rest {
            [byte @ ..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for (at, &byte) in self.rest.iter().enumerate().take(10) {
            if at == 9 && byte > 1 {
                return Err(DecodeError::VarintOverflow);
            }
            value |= u64::from(byte & 0x7F) << (7 * at);
            if byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() >= 10 { DecodeError::VarintOverflow } else { DecodeError::Truncated })
    }
}

impl<'a> Field<'a> {
    #[inline]
    pub(crate) fn u64(self) -> Result<u64, DecodeError> {
        match self.value {
            Value::Varint(value) => Ok(value),
            _ => Err(DecodeError::WrongWireType(self.number)),
        }
    }

    /// The low 32 bits: what protobuf says a longer number stands for in a field of this type.
    #[inline]
    pub(crate) fn i32(self) -> Result<i32, DecodeError> {
        self.u64().map(|value| value as i32)
    }

    #[inline]
    pub(crate) fn u32(self) -> Result<u32, DecodeError> {
        self.u64().map(|value| value as u32)
    }

    #[inline]
    pub(crate) fn i64(self) -> Result<i64, DecodeError> {
        self.u64().map(|value| value as i64)
    }

    #[inline]
    pub(crate) fn bool(self) -> Result<bool, DecodeError> {
        self.u64().map(|value| value != 0)
    }

    #[inline]
    pub(crate) fn bytes(self) -> Result<&'a [u8], DecodeError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(DecodeError::WrongWireType(self.number)),
        }
    }

    #[inline]
    pub(crate) fn str(self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::InvalidUtf8(self.number))
    }
}

/// The value of a required field, `Message.field`.
#[inline]
pub(crate) fn required<T>(value: Option<T>, name: &'static str) -> Result<T, DecodeError> {
    value.ok_or(DecodeError::MissingField(name))
}

#[cfg(test)]
mod tests;
