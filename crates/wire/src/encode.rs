//! Writing of frames.
//!
//! The answers a busy connection consists of are written by hand; [`command`] writes any other.

use bytes::BufMut;
use prost::Message as _;

use crate::{
    command::TxnId,
    proto::{BaseCommand, ServerError, base_command::Type},
};

mod body;
mod message;

use body::{Body, put_frame};
pub use message::{Message, message_header};

/// A PING frame.
pub const PING: [u8; 13] = empty(Type::Ping);

/// A PONG frame.
pub const PONG: [u8; 13] = empty(Type::Pong);

/// A frame with an empty body whose field number takes two bytes.
const fn empty(kind: Type) -> [u8; 13] {
    let kind = kind as u8;
    [0, 0, 0, 9, 0, 0, 0, 5, 0x08, kind, (kind << 3) | 0x82, kind >> 4, 0]
}

/// Writes any command without payload.
pub fn command(command: &BaseCommand, out: &mut impl BufMut) {
    let size = command.encoded_len();
    // A command is at most a few names and lists of names long.
    out.put_u32(size as u32 + 4);
    out.put_u32(size as u32);
    command.encode_raw(out);
}

/// Writes the part of a frame before its payload part, which takes `payload_len` bytes.
pub fn command_with_payload(command: &BaseCommand, payload_len: usize, out: &mut impl BufMut) {
    let size = command.encoded_len();
    out.put_u32((size + 4 + payload_len) as u32);
    out.put_u32(size as u32);
    command.encode_raw(out);
}

/// Writes SUCCESS: the answer to requests that only ask for something to be done.
pub fn success(request_id: u64, out: &mut impl BufMut) {
    let mut body = Body::new();
    body.varint(1, request_id);
    put_frame(Type::Success, &body, "", out);
}

/// Writes ERROR: the answer to a request that failed.
pub fn error(request_id: u64, error: ServerError, text: &str, out: &mut impl BufMut) {
    let mut body = Body::new();
    body.varint(1, request_id);
    body.varint(2, error as u64);
    body.string(3, text);
    put_frame(Type::Error, &body, text, out);
}

/// Where a message was stored, for [`send_receipt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendReceipt {
    /// The producer, as numbered on its connection.
    pub producer_id: u64,
    /// The sequence id of the SEND it answers.
    pub sequence_id: u64,
    /// The highest sequence id of that SEND, 0 if it named none.
    pub highest_sequence_id: u64,
    /// The ledger; `u64::MAX`, like the entry, for a duplicate that was dropped.
    pub ledger_id: u64,
    /// The entry in the ledger.
    pub entry_id: u64,
}

/// Writes SEND_RECEIPT: the answer to a SEND that was stored.
pub fn send_receipt(receipt: &SendReceipt, out: &mut impl BufMut) {
    let mut id = Body::new();
    id.varint(1, receipt.ledger_id);
    id.varint(2, receipt.entry_id);
    let mut body = Body::new();
    body.varint(1, receipt.producer_id);
    body.varint(2, receipt.sequence_id);
    body.nested(3, &id);
    body.varint(4, receipt.highest_sequence_id);
    put_frame(Type::SendReceipt, &body, "", out);
}

/// Writes SEND_ERROR: the answer to a SEND that was not stored.
pub fn send_error(producer_id: u64, sequence_id: u64, error: ServerError, text: &str, out: &mut impl BufMut) {
    let mut body = Body::new();
    body.varint(1, producer_id);
    body.varint(2, sequence_id);
    body.varint(3, error as u64);
    body.string(4, text);
    put_frame(Type::SendError, &body, text, out);
}

/// Writes ACK_RESPONSE: the answer to an ACK that has a request id.
pub fn ack_response(
    consumer_id: u64,
    request_id: u64,
    txn: Option<TxnId>,
    error: Option<(ServerError, &str)>,
    out: &mut impl BufMut,
) {
    let mut body = Body::new();
    body.varint(1, consumer_id);
    if let Some(txn) = txn {
        body.varint(2, txn.least_bits);
        body.varint(3, txn.most_bits);
    }
    body.varint(6, request_id);
    let mut text = "";
    if let Some((error, why)) = error {
        body.varint(4, error as u64);
        body.string(5, why);
        text = why;
    }
    put_frame(Type::AckResponse, &body, text, out);
}
