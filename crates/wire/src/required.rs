//! Required fields: proto2 has them, Pulsar relies on them, prost does not enforce them.

use crate::{
    DecodeError,
    field::{Fields, Value},
};

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// What a message must contain. Messages are numbered by their place in [`RULES`].
struct Rule {
    /// Number and name (`Message.field`) of each required field.
    required: &'static [(u32, &'static str)],
    /// Number of each field that is a message, and which one.
    nested: &'static [(u32, usize)],
}

/// No Pulsar message nests deeper than six levels.
const MAX_DEPTH: usize = 16;

/// Checks that an encoded `BaseCommand`, and every message in it, has its required fields.
pub(crate) fn check_command(command: &[u8]) -> Result<(), DecodeError> {
    check(command, BASE_COMMAND, 0)
}

/// Checks an encoded `MessageMetadata` likewise.
pub(crate) fn check_metadata(metadata: &[u8]) -> Result<(), DecodeError> {
    check(metadata, MESSAGE_METADATA, 0)
}

fn check(message: &[u8], rule: usize, depth: usize) -> Result<(), DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep { limit: MAX_DEPTH });
    }
    let rule = &RULES[rule];
    // Field numbers of Pulsar's messages stay below 128.
    let mut seen = 0_u128;
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        seen |= 1_u128.checked_shl(field.number).unwrap_or(0);
        if let Value::Bytes(bytes) = field.value
            && let Some(&(_, nested)) = rule.nested.iter().find(|(number, _)| *number == field.number)
        {
            check(bytes, nested, depth + 1)?;
        }
    }
    match rule.required.iter().find(|(number, _)| seen & (1 << number) == 0) {
        Some(&(_, name)) => Err(DecodeError::MissingField(name)),
        None => Ok(()),
    }
}
