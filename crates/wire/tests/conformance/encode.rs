//! Hand-encoded frames against prost.

use plerion_wire::{
    Frame,
    command::TxnId,
    encode::{self, Message, SendReceipt},
    proto::{self, BaseCommand, MessageIdData, ServerError},
};
use proptest::prelude::*;
use prost::Message as _;

use crate::command::arb_u64;

/// The only frame in `bytes`.
fn parse(bytes: &[u8]) -> Frame<'_> {
    assert_eq!(plerion_wire::frame::peek(bytes, usize::MAX), Ok(Some(bytes.len())));
    Frame::parse(bytes).unwrap()
}

fn decoded(bytes: &[u8]) -> BaseCommand {
    let frame = parse(bytes);
    assert_eq!(frame.payload, b"");
    BaseCommand::decode(frame.command).unwrap()
}

fn by_prost(command: impl Into<BaseCommand>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::command(&command.into(), &mut bytes);
    bytes
}

fn arb_error() -> impl Strategy<Value = ServerError> {
    (0..26).prop_map(|code| ServerError::try_from(code).unwrap())
}

#[test]
fn ping_and_pong() {
    assert_eq!(encode::PING[..], by_prost(proto::CommandPing {}));
    assert_eq!(encode::PONG[..], by_prost(proto::CommandPong {}));
}

#[test]
fn a_payload_may_follow_any_command() {
    let command = BaseCommand::from(proto::CommandSend { producer_id: 1, sequence_id: 2, ..Default::default() });
    let mut bytes = Vec::new();
    encode::command_with_payload(&command, 3, &mut bytes);
    bytes.extend_from_slice(b"abc");
    let frame = parse(&bytes);
    assert_eq!(BaseCommand::decode(frame.command).unwrap(), command);
    assert_eq!(frame.payload, b"abc");
}

#[test]
fn the_largest_numbers_fit() {
    let mut out = Vec::new();
    let message = Message {
        consumer_id: u64::MAX,
        ledger_id: u64::MAX,
        entry_id: u64::MAX,
        partition: i32::MIN,
        redelivery_count: u32::MAX,
        ack_set: &[u64::MAX; 100],
        consumer_epoch: Some(u64::MAX),
    };
    encode::message_header(&message, 0, &mut out);
    assert_eq!(decoded(&out).message.unwrap().ack_set, [-1; 100]);

    out.clear();
    let txn = TxnId { most_bits: u64::MAX, least_bits: u64::MAX };
    let text = "x".repeat(100_000);
    encode::ack_response(u64::MAX, u64::MAX, Some(txn), Some((ServerError::ProducerFenced, &text)), &mut out);
    assert_eq!(decoded(&out).ack_response.unwrap().message(), text);

    out.clear();
    encode::send_error(u64::MAX, u64::MAX, ServerError::ProducerFenced, &text, &mut out);
    assert_eq!(decoded(&out).send_error.unwrap().message, text);
}

proptest! {
    #[test]
    fn success(request_id in arb_u64()) {
        let mut out = Vec::new();
        encode::success(request_id, &mut out);
        prop_assert_eq!(out, by_prost(proto::CommandSuccess { request_id, schema: None }));
    }

    #[test]
    fn error(request_id in arb_u64(), error in arb_error(), text in ".{0,200}") {
        let mut out = Vec::new();
        encode::error(request_id, error, &text, &mut out);
        prop_assert_eq!(out, by_prost(proto::CommandError { request_id, error: error.into(), message: text }));
    }

    #[test]
    fn send_receipt(numbers in prop::array::uniform5(arb_u64())) {
        let [producer_id, sequence_id, highest_sequence_id, ledger_id, entry_id] = numbers;
        let mut out = Vec::new();
        encode::send_receipt(
            &SendReceipt { producer_id, sequence_id, highest_sequence_id, ledger_id, entry_id },
            &mut out,
        );
        prop_assert_eq!(out, by_prost(proto::CommandSendReceipt {
            producer_id,
            sequence_id,
            message_id: Some(MessageIdData { ledger_id, entry_id, ..Default::default() }),
            highest_sequence_id: Some(highest_sequence_id),
        }));
    }

    #[test]
    fn send_error(producer_id in arb_u64(), sequence_id in arb_u64(), error in arb_error(), text in ".{0,200}") {
        let mut out = Vec::new();
        encode::send_error(producer_id, sequence_id, error, &text, &mut out);
        prop_assert_eq!(
            out,
            by_prost(proto::CommandSendError { producer_id, sequence_id, error: error.into(), message: text })
        );
    }

    #[test]
    fn ack_response(
        consumer_id in arb_u64(),
        request_id in arb_u64(),
        txn in prop::option::of((arb_u64(), arb_u64())),
        error in prop::option::of((arb_error(), ".{0,200}")),
    ) {
        let mut out = Vec::new();
        let txn = txn.map(|(most_bits, least_bits)| TxnId { most_bits, least_bits });
        let why = error.as_ref().map(|(error, text)| (*error, text.as_str()));
        encode::ack_response(consumer_id, request_id, txn, why, &mut out);
        prop_assert_eq!(decoded(&out), BaseCommand::from(proto::CommandAckResponse {
            consumer_id,
            txnid_least_bits: txn.map(|txn| txn.least_bits),
            txnid_most_bits: txn.map(|txn| txn.most_bits),
            error: why.map(|(error, _)| error.into()),
            message: why.map(|(_, text)| text.to_owned()),
            request_id: Some(request_id),
        }));
    }

    #[test]
    fn message(
        numbers in prop::array::uniform3(arb_u64()),
        partition in prop_oneof![-1..3, any::<i32>()],
        redelivery_count in prop_oneof![0..3_u32, any::<u32>()],
        ack_set in prop::collection::vec(arb_u64(), 0..5),
        consumer_epoch in prop::option::of(arb_u64()),
        payload in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let [consumer_id, ledger_id, entry_id] = numbers;
        let mut out = Vec::new();
        encode::message_header(
            &Message { consumer_id, ledger_id, entry_id, partition, redelivery_count, ack_set: &ack_set, consumer_epoch },
            payload.len(),
            &mut out,
        );
        out.extend_from_slice(&payload);
        let frame = parse(&out);
        prop_assert_eq!(frame.payload, &payload[..]);
        prop_assert_eq!(BaseCommand::decode(frame.command).unwrap(), BaseCommand::from(proto::CommandMessage {
            consumer_id,
            message_id: MessageIdData {
                ledger_id,
                entry_id,
                partition: (partition != -1).then_some(partition),
                ..Default::default()
            },
            redelivery_count: (redelivery_count != 0).then_some(redelivery_count),
            ack_set: ack_set.iter().map(|word| *word as i64).collect(),
            consumer_epoch,
        }));
    }
}
