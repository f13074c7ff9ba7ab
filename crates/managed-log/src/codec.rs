//! The binary form of rows, checkpoints and state records.
//!
//! Integers are LEB128 varints, strings and byte strings carry their length. A sealed value is a format version, the
//! body, and the CRC32C of both in little-endian order.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use plerion_subscription::Position;

/// Appends values to a buffer.
pub(crate) trait Put: BufMut {
    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.put_u8(value as u8);
    }

    fn put_block(&mut self, value: &[u8]) {
        self.put_varint(value.len() as u64);
        self.put_slice(value);
    }

    fn put_position(&mut self, value: Position) {
        self.put_i64_le(value.ledger);
        self.put_i64_le(value.entry);
    }

    fn put_map(&mut self, value: &BTreeMap<String, String>) {
        self.put_varint(value.len() as u64);
        for (key, value) in value {
            self.put_block(key.as_bytes());
            self.put_block(value.as_bytes());
        }
    }

    fn put_option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        match value {
            None => self.put_u8(0),
            Some(value) => {
                self.put_u8(1);
                put(self, value);
            }
        }
    }
}

impl Put for BytesMut {}

/// What a value breaks; the caller knows where it was stored.
pub(crate) type Malformed = &'static str;

/// Takes values off the front of a byte string.
pub(crate) struct Take(Bytes);

impl Take {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.slice(1)?[0])
    }

    pub(crate) fn slice(&mut self, len: usize) -> Result<Bytes, Malformed> {
        if len > self.0.len() {
            return Err("it ends too early");
        }
        Ok(self.0.split_to(len))
    }

    pub(crate) fn int(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("an integer has more than 64 bits")
    }

    pub(crate) fn block(&mut self) -> Result<Bytes, Malformed> {
        let len = usize::try_from(self.int()?).map_err(|_| "a length exceeds the address space")?;
        self.slice(len)
    }

    pub(crate) fn string(&mut self) -> Result<String, Malformed> {
        String::from_utf8(self.block()?.into()).map_err(|_| "a string is not UTF-8")
    }

    fn i64(&mut self) -> Result<i64, Malformed> {
        let bytes = self.slice(8)?;
        Ok(bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte)).cast_signed())
    }

    pub(crate) fn position(&mut self) -> Result<Position, Malformed> {
        Ok(Position::new(self.i64()?, self.i64()?))
    }

    pub(crate) fn map(&mut self) -> Result<BTreeMap<String, String>, Malformed> {
        self.list(|take| Ok((take.string()?, take.string()?)))
    }

    pub(crate) fn option<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        match self.byte()? {
            0 => Ok(None),
            1 => value(self).map(Some),
            _ => Err("an optional value is neither there nor not"),
        }
    }

    /// A counted list; the count is not trusted with memory.
    pub(crate) fn list<T, C: Default + Extend<T>>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<C, Malformed> {
        let mut items = C::default();
        for _ in 0..self.int()? {
            items.extend([item(self)?]);
        }
        Ok(items)
    }
}

/// Wraps what `body` writes in a version and a checksum.
pub(crate) fn seal(version: u8, body: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(version);
    body(&mut bytes);
    finish(bytes)
}

/// Adds the checksum to a version and a body.
pub(crate) fn finish(mut bytes: BytesMut) -> Bytes {
    let checksum = crc32c::crc32c(&bytes);
    bytes.put_u32_le(checksum);
    bytes.freeze()
}

/// Checks checksum and version of a sealed value and gives its body.
pub(crate) fn open(version: u8, mut bytes: Bytes) -> Result<Take, Malformed> {
    let Some(end) = bytes.len().checked_sub(4).filter(|&end| end > 0) else {
        return Err("it is too short");
    };
    let stored = bytes.split_off(end);
    if crc32c::crc32c(&bytes).to_le_bytes() != stored[..] {
        return Err("its checksum does not match");
    }
    if bytes[0] != version {
        return Err("its format is not known to this release; use the one that wrote it or a later one");
    }
    Ok(Take::new(bytes.slice(1..)))
}

#[cfg(test)]
mod tests;
