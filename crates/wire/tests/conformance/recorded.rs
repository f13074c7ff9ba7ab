//! Frames that Apache Pulsar 4.0.7 wrote.

use std::collections::HashMap;

use plerion_wire::{
    Command, Frame, MessageMetadata, Payload, ServerError, batch,
    command::{AckType, Flow, TxnId, ValidationError},
    encode::{self, Message, SendReceipt},
    frame,
    proto::{BaseCommand, BrokerEntryMetadata, CompressionType},
};

/// The recorded bytes, by name.
pub(crate) fn recorded() -> HashMap<&'static str, Vec<u8>> {
    let byte = |hex: &[u8]| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
    include_str!("../fixtures/pulsar-4.0.7-frames.txt")
        .lines()
        .filter_map(|line| line.split_once(' ').filter(|(name, _)| *name != "#"))
        .map(|(name, hex)| (name, hex.as_bytes().chunks(2).map(byte).collect()))
        .collect()
}

fn with_frame<T>(name: &str, look: impl FnOnce(Command<'_>, &[u8]) -> T) -> T {
    let bytes = &recorded()[name];
    assert_eq!(frame::peek(bytes, bytes.len()), Ok(Some(bytes.len())));
    let frame = Frame::parse(bytes).unwrap();
    look(Command::decode(frame.command).unwrap(), frame.payload)
}

fn other(name: &str) -> BaseCommand {
    with_frame(name, |command, _| match command {
        Command::Other(command) => *command,
        command => panic!("{command:?}"),
    })
}

#[test]
fn every_frame_reads_and_is_rewritten_to_the_same_bytes() {
    for (name, bytes) in recorded() {
        if name.starts_with("entry") {
            continue;
        }
        let frame = Frame::parse(&bytes).unwrap();
        assert!(!matches!(Command::decode(frame.command).unwrap(), Command::Unknown(_)), "{name}");
        let command: BaseCommand = prost::Message::decode(frame.command).unwrap();
        let mut rewritten = Vec::new();
        encode::command_with_payload(&command, frame.payload.len(), &mut rewritten);
        rewritten.extend_from_slice(frame.payload);
        if name != "ack_response_error" {
            // Pulsar writes this one's fields out of order.
            assert_eq!(rewritten, bytes, "{name}");
        }
    }
}

#[test]
fn answers_are_written_byte_for_byte() {
    let recorded = recorded();
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    assert_eq!(encode::PING[..], recorded["ping"]);
    assert_eq!(encode::PONG[..], recorded["pong"]);
    assert_eq!(written(&|out| encode::success(300, out)), recorded["success"]);
    assert_eq!(written(&|out| encode::error(7, ServerError::TopicNotFound, "no such topic", out)), recorded["error"]);
    let receipt =
        SendReceipt { producer_id: 1, sequence_id: 300, highest_sequence_id: 301, ledger_id: 12, entry_id: 34 };
    assert_eq!(written(&|out| encode::send_receipt(&receipt, out)), recorded["send_receipt"]);
    let duplicate = SendReceipt { highest_sequence_id: 300, ledger_id: u64::MAX, entry_id: u64::MAX, ..receipt };
    assert_eq!(written(&|out| encode::send_receipt(&duplicate, out)), recorded["send_receipt_duplicate"]);
    assert_eq!(
        written(&|out| encode::send_error(1, 300, ServerError::ChecksumError, "bad checksum", out)),
        recorded["send_error"]
    );
    assert_eq!(written(&|out| encode::ack_response(9, 77, None, None, out)), recorded["ack_response"]);
    let refused = Some((ServerError::NotAllowedError, "no"));
    assert_eq!(
        written(&|out| encode::ack_response(9, 77, None, refused, out)).len(),
        recorded["ack_response_error"].len()
    );

    let bytes = &recorded["message"];
    let payload = Frame::parse(bytes).unwrap().payload;
    let message = Message {
        consumer_id: 9,
        ledger_id: 12,
        entry_id: 34,
        partition: 2,
        redelivery_count: 3,
        ack_set: &[5, u64::MAX],
        consumer_epoch: None,
    };
    let header = written(&|out| encode::message_header(&message, payload.len(), out));
    assert_eq!([&header, payload].concat(), *bytes);
}

#[test]
fn a_send_with_its_metadata() {
    with_frame("send", |command, payload| {
        let Command::Send(send) = command else { panic!("{command:?}") };
        assert_eq!((send.producer_id, send.sequence_id, send.num_messages), (1, 300, 1));
        let payload = Payload::parse(payload).unwrap();
        assert!(payload.checksum.is_some());
        assert_eq!(payload.verify(), Ok(()));
        assert_eq!(payload.body, b"hello");
        let metadata = MessageMetadata::peek(payload.metadata).unwrap();
        assert_eq!(metadata.producer_name, "standalone-0-7");
        assert_eq!(metadata.sequence_id, 300);
        assert_eq!(metadata.publish_time, 1_700_000_000_123);
        assert_eq!(metadata.event_time, Some(1_700_000_000_000));
        assert_eq!(metadata.partition_key, Some("key"));
        assert_eq!(metadata.schema_version, Some(&[0, 0, 0, 0, 0, 0, 0, 1][..]));
        assert!(!metadata.is_batch());
    });
}

#[test]
fn a_batch() {
    with_frame("send_batch", |command, payload| {
        let Command::Send(send) = command else { panic!("{command:?}") };
        assert_eq!(send.highest_sequence_id, Some(301));
        assert_eq!(send.num_messages, 2);
        assert_eq!(send.txn, Some(TxnId { most_bits: 6, least_bits: 5 }));
        let id = send.message_id.unwrap();
        assert_eq!((id.ledger_id, id.entry_id), (300, 1));
        let payload = Payload::parse(payload).unwrap();
        assert_eq!(payload.verify(), Ok(()));
        let metadata = MessageMetadata::peek(payload.metadata).unwrap();
        assert_eq!(metadata.num_messages_in_batch, Some(2));
        assert_eq!(metadata.ordering_key, Some(&b"ok"[..]));
        assert_eq!(metadata.deliver_at_time, Some(1_700_000_009_999));
        let messages: Vec<_> = batch::messages(payload.body).collect::<Result<_, _>>().unwrap();
        assert_eq!(messages.iter().map(|one| one.payload).collect::<Vec<_>>(), [&b"one"[..], b""]);
        assert_eq!(messages.iter().map(|one| one.partition_key).collect::<Vec<_>>(), [Some("a"), Some("b")]);
        assert_eq!(messages.iter().map(|one| one.null_value).collect::<Vec<_>>(), [false, true]);
    });
}

#[test]
fn a_chunk_without_checksum() {
    with_frame("send_chunk_without_checksum", |_, payload| {
        let payload = Payload::parse(payload).unwrap();
        assert_eq!(payload.checksum, None);
        let metadata = MessageMetadata::peek(payload.metadata).unwrap();
        assert_eq!(metadata.uuid, Some("u-1"));
        assert_eq!(metadata.chunk_id, Some(2));
        assert_eq!(metadata.num_chunks_from_msg, Some(3));
        assert_eq!(metadata.total_chunk_msg_size, Some(4096));
        assert_eq!(metadata.txn, Some(TxnId { most_bits: 1, least_bits: 2 }));
        assert_eq!(metadata.compression(), Some(CompressionType::Zstd));
        assert_eq!(metadata.uncompressed_size, 99);
        assert_eq!(metadata.replicated_from, Some("west"));
        assert!(metadata.null_partition_key);
    });
}

#[test]
fn the_checksum_added_is_the_one_pulsar_adds() {
    let bytes = &recorded()["entry_with_broker_metadata"];
    let entry = Payload::parse(bytes).unwrap();
    let broker_entry = BrokerEntryMetadata { broker_timestamp: Some(1_700_000_000_456), index: Some(42) };
    assert_eq!(entry.decode_broker_entry(), Ok(Some(broker_entry)));
    let bare = &entry.without_broker_entry()[plerion_wire::payload::CHECKSUM_PART..];
    let part = Payload::parse(bare).unwrap().missing_checksum().unwrap();
    assert_eq!([&part, bare].concat(), entry.without_broker_entry());
}

#[test]
fn acks() {
    with_frame("ack", |command, _| {
        let Command::Ack(ack) = command else { panic!("{command:?}") };
        assert_eq!((ack.consumer_id, ack.ack_type, ack.request_id), (9, AckType::Individual, Some(77)));
        let id = ack.message_ids.iter().next().unwrap();
        assert_eq!((id.ledger_id, id.entry_id, id.partition), (12, 34, -1));
        assert_eq!(id.ack_set.iter().collect::<Vec<_>>(), [5, 1 << 6]);
    });
    with_frame("ack_cumulative", |command, _| {
        let Command::Ack(ack) = command else { panic!("{command:?}") };
        assert_eq!(ack.ack_type, AckType::Cumulative);
        assert_eq!(ack.validation_error, Some(ValidationError::ChecksumMismatch));
        assert_eq!(ack.properties.iter().collect::<Vec<_>>(), [("p", 8)]);
        assert_eq!(ack.txn, Some(TxnId { most_bits: 1, least_bits: 2 }));
    });
    with_frame("ack_many", |command, _| {
        let Command::Ack(ack) = command else { panic!("{command:?}") };
        assert_eq!(ack.message_ids.len(), 3);
        assert_eq!(ack.message_ids.iter().map(|id| id.entry_id).collect::<Vec<_>>(), [100, 101, 102]);
        assert_eq!(ack.request_id, None);
    });
}

#[test]
fn consumer_requests() {
    with_frame("flow", |command, _| {
        assert_eq!(command, Command::Flow(Flow { consumer_id: 9, permits: 1000 }));
    });
    with_frame("redeliver_all", |command, _| {
        let Command::Redeliver(redeliver) = command else { panic!("{command:?}") };
        assert_eq!((redeliver.consumer_id, redeliver.consumer_epoch), (9, Some(4)));
        assert!(redeliver.message_ids.is_empty());
    });
    with_frame("redeliver", |command, _| {
        let Command::Redeliver(redeliver) = command else { panic!("{command:?}") };
        assert_eq!(redeliver.message_ids.iter().map(|id| id.entry_id).collect::<Vec<_>>(), [100, 101, 102]);
    });
}

#[test]
fn what_prost_reads() {
    let connect = other("connect").connect.unwrap();
    assert_eq!(connect.protocol_version, Some(21));
    assert_eq!(connect.auth_data.as_deref(), Some(&b"secret"[..]));
    let lookup = other("lookup").lookup_topic.unwrap();
    assert_eq!(lookup.advertised_listener_name(), "listener");
    assert_eq!(lookup.properties[0].value, "v");
    assert!(!other("partitioned_metadata").partition_metadata.unwrap().metadata_auto_creation_enabled());
    assert_eq!(other("connected").connected.unwrap().max_message_size, Some(5_242_880));
    assert_eq!(other("seek").seek.unwrap().message_id.unwrap().ack_set, [5]);
}
