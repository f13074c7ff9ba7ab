//! Inputs worth keeping: those a fuzzer starts from or has found, and what they cost.

use std::{fs, path::Path};

use allocation_counter::{AllocationInfo, measure};
use plerion_wire::{Command, Frame, MessageMetadata, Payload, encode, frame};

use crate::{judge, recorded::recorded};

/// The corpus files in a folder, by name.
fn corpus(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap())
        .map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Enough for any command's own types, and a share of what was received: a length field is never believed.
fn allowed(input: &[u8]) -> u64 {
    16 * 1024 + 64 * input.len() as u64
}

fn replay(folder: &str, judge: fn(&[u8])) {
    for (name, bytes) in corpus(folder) {
        let cost = measure(|| judge(&bytes));
        assert!(cost.bytes_max <= allowed(&bytes), "{name} of {} bytes took {cost:?}", bytes.len());
    }
}

#[test]
fn streams() {
    replay("stream", judge::stream);
}

#[test]
fn metadata() {
    replay("metadata", judge::metadata);
}

#[test]
fn recorded_frames_cut_anywhere() {
    for bytes in recorded().values() {
        for len in 0..=bytes.len() {
            judge::stream(&bytes[..len]);
        }
    }
}

#[test]
fn the_hot_path_does_not_allocate() {
    let recorded = recorded();
    let mut out = Vec::with_capacity(1024);
    for name in ["send", "send_batch", "ack", "ack_cumulative", "ack_many", "flow", "redeliver", "ping", "pong"] {
        let bytes = &recorded[name];
        let cost = measure(|| {
            let len = frame::peek(bytes, frame::limit(5 << 20)).unwrap().unwrap();
            let frame = Frame::parse(&bytes[..len]).unwrap();
            match Command::decode(frame.command).unwrap() {
                Command::Ack(ack) => ack.message_ids.iter().for_each(|id| id.ack_set.iter().for_each(drop)),
                Command::Redeliver(redeliver) => redeliver.message_ids.iter().for_each(drop),
                Command::Send(send) => {
                    let payload = Payload::parse(frame.payload).unwrap();
                    payload.verify().unwrap();
                    MessageMetadata::peek(payload.metadata).unwrap();
                    let receipt = encode::SendReceipt {
                        producer_id: send.producer_id,
                        sequence_id: send.sequence_id,
                        highest_sequence_id: 0,
                        ledger_id: 1,
                        entry_id: 2,
                    };
                    encode::send_receipt(&receipt, &mut out);
                }
                _ => {}
            }
        });
        assert_eq!(cost, AllocationInfo::default(), "{name}");
    }
}
