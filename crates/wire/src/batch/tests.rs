use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::proto::{KeyValue, SingleMessageMetadata};

fn entry(metadata: &SingleMessageMetadata, payload: &[u8]) -> Vec<u8> {
    let metadata = metadata.encode_to_vec();
    [&(metadata.len() as u32).to_be_bytes(), &metadata[..], payload].concat()
}

fn single(payload: &[u8]) -> SingleMessageMetadata {
    SingleMessageMetadata { payload_size: payload.len() as i32, ..Default::default() }
}

#[test]
fn an_empty_body_has_no_messages() {
    assert_eq!(messages(b"").next(), None);
}

#[test]
fn ends_after_the_first_error() {
    let batch = [entry(&single(b"one"), b"one"), vec![0, 0, 0]].concat();
    let mut messages = messages(&batch);
    assert_eq!(messages.next().unwrap().unwrap().payload, b"one");
    assert_eq!(messages.next(), Some(Err(BatchError::Truncated(1))));
    assert_eq!(messages.next(), None);
}

#[test]
fn a_payload_cannot_be_of_negative_size_or_longer_than_the_batch() {
    for payload_size in [-1, i32::MIN, 4, i32::MAX] {
        let batch = entry(&SingleMessageMetadata { payload_size, ..Default::default() }, b"one");
        assert_eq!(messages(&batch).next(), Some(Err(BatchError::Truncated(0))), "{payload_size}");
    }
}

#[test]
fn the_payload_size_is_required() {
    let cause = DecodeError::MissingField("SingleMessageMetadata.payload_size");
    assert_eq!(messages(&[0; 4]).next(), Some(Err(BatchError::Metadata { index: 0, cause })));
}

prop_compose! {
    fn arb_message()(
        payload in prop::collection::vec(any::<u8>(), 0..20),
        partition_key in any::<Option<String>>(),
        ordering_key in any::<Option<Vec<u8>>>(),
        numbers in any::<(Option<u64>, Option<u64>)>(),
        flags in any::<[Option<bool>; 4]>(),
    ) -> (SingleMessageMetadata, Vec<u8>) {
        let metadata = SingleMessageMetadata {
            properties: vec![KeyValue { key: "k".into(), value: "v".into() }],
            partition_key,
            payload_size: payload.len() as i32,
            compacted_out: flags[0],
            event_time: numbers.0,
            partition_key_b64_encoded: flags[1],
            ordering_key: ordering_key.map(Into::into),
            sequence_id: numbers.1,
            null_value: flags[2],
            null_partition_key: flags[3],
        };
        (metadata, payload)
    }
}

proptest! {
    #[test]
    fn reads_what_prost_writes(batch in prop::collection::vec(arb_message(), 0..6)) {
        let body: Vec<u8> = batch.iter().flat_map(|(metadata, payload)| entry(metadata, payload)).collect();
        let read: Vec<_> = messages(&body).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read.len(), batch.len());
        for (read, (metadata, payload)) in read.iter().zip(&batch) {
            let encoded = metadata.encode_to_vec();
            prop_assert_eq!(*read, SingleMessage {
                metadata: &encoded,
                payload,
                partition_key: metadata.partition_key.as_deref(),
                partition_key_b64_encoded: metadata.partition_key_b64_encoded(),
                ordering_key: metadata.ordering_key.as_deref(),
                event_time: metadata.event_time,
                sequence_id: metadata.sequence_id,
                compacted_out: metadata.compacted_out(),
                null_value: metadata.null_value(),
            });
        }
    }
}
