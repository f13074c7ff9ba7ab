//! Format 3: a protobuf message after its length. Read and written by hand, so that unknown fields are kept.

use bytes::Bytes;

use super::{Draft, LedgerMetadata, MetadataError, Segment, State, bookie};

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

struct Reader<'a>(&'a [u8]);

enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
    Other,
}

/// A field's number, its value, and all its bytes.
type Field<'a> = (u64, Value<'a>, &'a [u8]);

const SHORT: MetadataError = MetadataError::Malformed("it ends too early");

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Result<u64, MetadataError> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(SHORT)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(MetadataError::Malformed("a number is too long"))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], MetadataError> {
        let length = usize::try_from(length).map_err(|_| SHORT)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next field.
    fn field(&mut self) -> Result<Option<Field<'a>>, MetadataError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let start = self.0;
        let tag = self.varint()?;
        let value = match tag & 7 {
            VARINT => Value::Number(self.varint()? as i64),
            FIXED64 => self.take(8).map(|_| Value::Other)?,
            FIXED32 => self.take(4).map(|_| Value::Other)?,
            BYTES => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            _ => return Err(MetadataError::Malformed("a field has an unknown type")),
        };
        Ok(Some((tag >> 3, value, &start[..start.len() - self.0.len()])))
    }
}

fn text(bytes: &[u8]) -> Result<&str, MetadataError> {
    std::str::from_utf8(bytes).map_err(|_| MetadataError::Malformed("a text is not UTF-8"))
}

pub(super) fn decode(bytes: &[u8]) -> Result<LedgerMetadata, MetadataError> {
    let mut reader = Reader(bytes);
    let length = reader.varint()?;
    let mut fields = Reader(reader.take(length)?);
    let mut draft = Draft::default();
    while let Some((number, value, raw)) = fields.field()? {
        match (number, value) {
            (1, Value::Number(value)) => draft.write = Some(value),
            (2, Value::Number(value)) => draft.ensemble = Some(value),
            (3, Value::Number(value)) => draft.length = value,
            (4, Value::Number(value)) => draft.last = Some(value),
            (5, Value::Number(value)) => draft.state = Some(value),
            (6, Value::Bytes(value)) => draft.segments.push(segment(value)?),
            (7, Value::Number(value)) => draft.digest = Some(value),
            (8, Value::Bytes(value)) => draft.password = Bytes::copy_from_slice(value),
            (9, Value::Number(value)) => draft.ack = Some(value),
            (10, Value::Number(value)) => draft.created_ms = Some(value),
            (11, Value::Bytes(value)) => draft.custom.push(custom(value)?),
            (12, Value::Number(value)) => draft.token = Some(value),
            (0..=12, _) => return Err(MetadataError::Malformed("a field has the wrong type")),
            _ => draft.unknown.extend_from_slice(raw),
        }
    }
    draft.finish()
}

fn segment(bytes: &[u8]) -> Result<Segment, MetadataError> {
    let mut segment = Segment { first: -1, ensemble: Vec::new() };
    let mut fields = Reader(bytes);
    while let Some((number, value, _)) = fields.field()? {
        match (number, value) {
            (1, Value::Bytes(value)) => segment.ensemble.push(bookie(text(value)?)?),
            (2, Value::Number(value)) => segment.first = value,
            _ => {}
        }
    }
    Ok(segment)
}

fn custom(bytes: &[u8]) -> Result<(String, Bytes), MetadataError> {
    let (mut key, mut content) = (String::new(), Bytes::new());
    let mut fields = Reader(bytes);
    while let Some((number, value, _)) = fields.field()? {
        match (number, value) {
            (1, Value::Bytes(value)) => key = text(value)?.to_owned(),
            (2, Value::Bytes(value)) => content = Bytes::copy_from_slice(value),
            _ => {}
        }
    }
    Ok((key, content))
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_number(number: u64, value: i64, out: &mut Vec<u8>) {
    put_varint(number << 3 | VARINT, out);
    put_varint(value as u64, out);
}

fn put_bytes(number: u64, value: &[u8], out: &mut Vec<u8>) {
    put_varint(number << 3 | BYTES, out);
    put_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

pub(super) fn encode(metadata: &LedgerMetadata, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    let state = match metadata.state {
        State::Open => 1,
        State::InRecovery => 2,
        State::Closed => 3,
    };
    put_number(1, metadata.quorum.write() as i64, &mut body);
    put_number(2, metadata.quorum.ensemble() as i64, &mut body);
    put_number(3, metadata.length, &mut body);
    put_number(4, metadata.last, &mut body);
    put_number(5, state, &mut body);
    for segment in &metadata.segments {
        let mut inner = Vec::new();
        for member in &segment.ensemble {
            put_bytes(1, member.as_str().as_bytes(), &mut inner);
        }
        put_number(2, segment.first, &mut inner);
        put_bytes(6, &inner, &mut body);
    }
    if let Some(digest) = metadata.digest {
        put_number(7, i64::from(digest.number()), &mut body);
        put_bytes(8, &metadata.password, &mut body);
    }
    put_number(9, metadata.quorum.ack() as i64, &mut body);
    if let Some(created) = metadata.created_ms {
        put_number(10, created, &mut body);
    }
    for (key, value) in &metadata.custom {
        let mut inner = Vec::new();
        put_bytes(1, key.as_bytes(), &mut inner);
        put_bytes(2, value, &mut inner);
        put_bytes(11, &inner, &mut body);
    }
    if let Some(token) = metadata.token {
        put_number(12, token, &mut body);
    }
    body.extend_from_slice(&metadata.unknown);
    put_varint(body.len() as u64, out);
    out.extend_from_slice(&body);
}
