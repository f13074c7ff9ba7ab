//! What can be wrong with an encoded message.

/// Why a command or metadata cannot be read.
///
/// The bytes will not get better: a connection that sent such a command is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A field goes on after the end of its message.
    #[error("message ends inside a field")]
    Truncated,
    /// A variable-length integer does not fit 64 bits.
    #[error("varint is longer than 64 bits")]
    VarintOverflow,
    /// A field's key is no key.
    #[error("{0} is no field key, a field number is within 1..=536870911")]
    InvalidKey(u64),
    /// A field has a wire type that Pulsar does not use (groups) or that does not exist.
    #[error("field {number} has wire type {wire_type}, only 0, 1, 2 and 5 are understood")]
    UnsupportedWireType {
        /// The field's number.
        number: u32,
        /// Its wire type.
        wire_type: u8,
    },
    /// A known field is encoded as something else.
    #[error("field {0} has the wrong wire type")]
    WrongWireType(u32),
    /// A string is not UTF-8.
    #[error("string field {0} is not valid UTF-8")]
    InvalidUtf8(u32),
    /// Messages are nested deeper than any sensible sender nests them.
    #[error("messages are nested too deeply, at most {limit} levels are read")]
    TooDeep {
        /// The deepest level that is read.
        limit: usize,
    },
    /// A required field, given as `Message.field`, is absent or has an enum value this protocol version does not know.
    #[error("required field {0} is missing")]
    MissingField(&'static str),
    /// A command without the body its type stands for.
    #[error("command of type {0} lacks its body")]
    MissingBody(i32),
    /// A command with its body more than once.
    #[error("command of type {0} has more than one body")]
    RepeatedBody(i32),
    /// The body of a command is malformed.
    #[error("malformed command: {0}")]
    Malformed(#[from] prost::DecodeError),
}
