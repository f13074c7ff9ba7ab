//! Format 2: the text form of the same protobuf message. Read only.

use bytes::Bytes;

use super::{Draft, LedgerMetadata, MetadataError, Segment, bookie};
use crate::digest::DigestType;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(Vec<u8>),
    Open,
    Close,
}

enum Value {
    Word(String),
    Text(Vec<u8>),
    Block(Vec<(String, Value)>),
}

const BAD_TEXT: MetadataError = MetadataError::Malformed("a quoted text does not end, or has an unknown escape");
const BAD_FORM: MetadataError = MetadataError::Malformed("it is not the text form of a message");

fn tokens(bytes: &[u8]) -> Result<Vec<Token>, MetadataError> {
    let mut tokens = Vec::new();
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'{' => tokens.push(Token::Open),
            b'}' => tokens.push(Token::Close),
            b'"' => {
                let (text, after) = quoted(after)?;
                tokens.push(Token::Text(text));
                rest = after;
                continue;
            }
            b' ' | b'\t' | b'\n' | b'\r' | b':' => {}
            _ => {
                let end = rest.iter().position(|byte| b" \t\r\n:{}\"".contains(byte)).unwrap_or(rest.len());
                tokens.push(Token::Word(String::from_utf8_lossy(&rest[..end]).into_owned()));
                rest = &rest[end..];
                continue;
            }
        }
        rest = after;
    }
    Ok(tokens)
}

/// The content of a text whose opening quote was read, and what follows its closing one.
fn quoted(mut rest: &[u8]) -> Result<(Vec<u8>, &[u8]), MetadataError> {
    let mut out = Vec::new();
    loop {
        let (&byte, after) = rest.split_first().ok_or(BAD_TEXT)?;
        rest = after;
        match byte {
            b'"' => return Ok((out, rest)),
            b'\\' => {
                let (&escaped, after) = rest.split_first().ok_or(BAD_TEXT)?;
                match escaped {
                    b'n' => out.push(b'\n'),
                    b'r' => out.push(b'\r'),
                    b't' => out.push(b'\t'),
                    b'\\' | b'"' | b'\'' => out.push(escaped),
                    b'0'..=b'7' => {
                        let digits = rest.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                        let value =
                            rest[..digits].iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                        out.push(u8::try_from(value).map_err(|_| BAD_TEXT)?);
                        rest = &rest[digits..];
                        continue;
                    }
                    _ => return Err(BAD_TEXT),
                }
                rest = after;
            }
            other => out.push(other),
        }
    }
}

/// The fields up to the end, or up to the brace that closes an inner message. Messages nest once.
fn fields(tokens: &mut std::vec::IntoIter<Token>, inner: bool) -> Result<Vec<(String, Value)>, MetadataError> {
    let mut found = Vec::new();
    loop {
        let name = match tokens.next() {
            Some(Token::Word(name)) => name,
            Some(Token::Close) if inner => return Ok(found),
            None if !inner => return Ok(found),
            _ => return Err(BAD_FORM),
        };
        let value = match tokens.next() {
            Some(Token::Word(word)) => Value::Word(word),
            Some(Token::Text(text)) => Value::Text(text),
            Some(Token::Open) if !inner => Value::Block(fields(tokens, true)?),
            _ => return Err(BAD_FORM),
        };
        found.push((name, value));
    }
}

fn number(value: &Value) -> Result<i64, MetadataError> {
    match value {
        Value::Word(word) => word.parse().map_err(|_| BAD_FORM),
        _ => Err(BAD_FORM),
    }
}

fn bytes(value: Value) -> Result<Vec<u8>, MetadataError> {
    if let Value::Text(text) = value { Ok(text) } else { Err(BAD_FORM) }
}

fn string(value: Value) -> Result<String, MetadataError> {
    String::from_utf8(bytes(value)?).map_err(|_| MetadataError::Malformed("a text is not UTF-8"))
}

pub(super) fn decode(stored: &[u8]) -> Result<LedgerMetadata, MetadataError> {
    let mut draft = Draft::default();
    for (name, value) in fields(&mut tokens(stored)?.into_iter(), false)? {
        match (&*name, value) {
            ("quorumSize", value) => draft.write = Some(number(&value)?),
            ("ensembleSize", value) => draft.ensemble = Some(number(&value)?),
            ("ackQuorumSize", value) => draft.ack = Some(number(&value)?),
            ("length", value) => draft.length = number(&value)?,
            ("lastEntryId", value) => draft.last = Some(number(&value)?),
            ("ctime", value) => draft.created_ms = Some(number(&value)?),
            ("cToken", value) => draft.token = Some(number(&value)?),
            ("state", Value::Word(word)) => {
                draft.state = ["OPEN", "IN_RECOVERY", "CLOSED"]
                    .iter()
                    .position(|state| *state == word)
                    .and_then(|at| i64::try_from(at + 1).ok());
            }
            ("digestType", Value::Word(word)) => {
                // A name that is not known is refused like a number that is not known.
                draft.digest = Some(DigestType::from_name(&word).map_or(0, |digest| i64::from(digest.number())));
            }
            ("password", value) => draft.password = Bytes::from(bytes(value)?),
            ("segment", Value::Block(inner)) => draft.segments.push(segment(inner)?),
            ("customMetadata", Value::Block(inner)) => {
                let mut entry = (String::new(), Bytes::new());
                for (name, value) in inner {
                    match &*name {
                        "key" => entry.0 = string(value)?,
                        "value" => entry.1 = Bytes::from(bytes(value)?),
                        _ => {}
                    }
                }
                draft.custom.push(entry);
            }
            _ => {}
        }
    }
    draft.finish()
}

fn segment(fields: Vec<(String, Value)>) -> Result<Segment, MetadataError> {
    let mut segment = Segment { first: -1, ensemble: Vec::new() };
    for (name, value) in fields {
        match &*name {
            "ensembleMember" => segment.ensemble.push(bookie(&string(value)?)?),
            "firstEntryId" => segment.first = number(&value)?,
            _ => {}
        }
    }
    Ok(segment)
}
