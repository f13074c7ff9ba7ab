//! Peeked metadata against prost.

use plerion_wire::{
    DecodeError, MessageMetadata,
    command::TxnId,
    metadata,
    proto::{self, CompressionType, EncryptionKeys, KeyValue},
};
use proptest::prelude::*;
use prost::Message as _;

use crate::{
    command::arb_u64,
    mutate::{arb_damage, damaged},
};

prop_compose! {
    fn arb_metadata()(
        required in ("[a-zé-]{0,20}", arb_u64(), arb_u64()),
        properties in prop::collection::vec(("[a-z]{0,3}", "[a-z]{0,3}"), 0..3),
        strings in prop::array::uniform4(prop::option::of("[a-zé]{0,8}")),
        replicate_to in prop::collection::vec("[a-z]{0,3}", 0..2),
        bytes in prop::array::uniform3(prop::option::of(prop::collection::vec(any::<u8>(), 0..9))),
        encryption_keys in prop::collection::vec("[a-z]{0,3}", 0..2),
        compression in prop::option::of(0..7),
        signed in any::<[Option<i32>; 5]>(),
        deliver_at_time in any::<Option<i64>>(),
        uncompressed_size in any::<Option<u32>>(),
        numbers in prop::array::uniform4(prop::option::of(arb_u64())),
        flags in any::<[Option<bool>; 3]>(),
    ) -> proto::MessageMetadata {
        let (producer_name, sequence_id, publish_time) = required;
        let [replicated_from, partition_key, uuid, encryption_algo] = strings;
        let [schema_version, ordering_key, encryption_param] = bytes.map(|bytes| bytes.map(Into::into));
        let [num_messages_in_batch, marker_type, num_chunks_from_msg, total_chunk_msg_size, chunk_id] = signed;
        let [event_time, txnid_least_bits, txnid_most_bits, highest_sequence_id] = numbers;
        let [partition_key_b64_encoded, null_value, null_partition_key] = flags;
        proto::MessageMetadata {
            producer_name,
            sequence_id,
            publish_time,
            properties: properties.into_iter().map(|(key, value)| KeyValue { key, value }).collect(),
            replicated_from,
            partition_key,
            replicate_to,
            compression,
            uncompressed_size,
            num_messages_in_batch,
            event_time,
            encryption_keys: encryption_keys
                .into_iter()
                .map(|key| EncryptionKeys { key, value: vec![0xFF].into(), metadata: vec![] })
                .collect(),
            encryption_algo,
            encryption_param,
            schema_version,
            partition_key_b64_encoded,
            ordering_key,
            deliver_at_time,
            marker_type,
            txnid_least_bits,
            txnid_most_bits,
            highest_sequence_id,
            null_value,
            uuid,
            num_chunks_from_msg,
            total_chunk_msg_size,
            chunk_id,
            null_partition_key,
        }
    }
}

/// What a peek should show of fully decoded metadata.
fn shown(full: &proto::MessageMetadata) -> MessageMetadata<'_> {
    MessageMetadata {
        producer_name: &full.producer_name,
        sequence_id: full.sequence_id,
        highest_sequence_id: full.highest_sequence_id,
        publish_time: full.publish_time,
        event_time: full.event_time,
        deliver_at_time: full.deliver_at_time,
        num_messages_in_batch: full.num_messages_in_batch,
        partition_key: full.partition_key.as_deref(),
        partition_key_b64_encoded: full.partition_key_b64_encoded(),
        null_partition_key: full.null_partition_key(),
        ordering_key: full.ordering_key.as_deref(),
        compression: full.compression.unwrap_or(0),
        uncompressed_size: full.uncompressed_size(),
        encrypted: !full.encryption_keys.is_empty(),
        null_value: full.null_value(),
        schema_version: full.schema_version.as_deref(),
        replicated_from: full.replicated_from.as_deref(),
        marker_type: full.marker_type,
        txn: full
            .txnid_most_bits
            .zip(full.txnid_least_bits)
            .map(|(most_bits, least_bits)| TxnId { most_bits, least_bits }),
        uuid: full.uuid.as_deref(),
        chunk_id: full.chunk_id,
        num_chunks_from_msg: full.num_chunks_from_msg,
        total_chunk_msg_size: full.total_chunk_msg_size,
    }
}

/// Fields that a peek skips, as prost's errors name them.
const NOT_SHOWN: [&str; 5] = ["properties", "replicate_to", "encryption_keys", "encryption_algo", "encryption_param"];

proptest! {
    #[test]
    fn peeks_what_prost_writes(full in arb_metadata()) {
        let bytes = full.encode_to_vec();
        prop_assert_eq!(MessageMetadata::peek(&bytes).unwrap(), shown(&full));
        prop_assert_eq!(metadata::decode(&bytes).unwrap(), full);
    }

    #[test]
    fn judges_damaged_metadata_as_prost_does(full in arb_metadata(), damage in arb_damage()) {
        let bytes = damaged(full.encode_to_vec(), &damage);
        match (MessageMetadata::peek(&bytes), proto::MessageMetadata::decode(&bytes[..])) {
            (Ok(peeked), Ok(full)) => prop_assert_eq!(peeked, shown(&full)),
            (Ok(_), Err(error)) => {
                let error = error.to_string();
                prop_assert!(NOT_SHOWN.iter().any(|field| error.contains(field)), "{}", error);
            }
            (Err(DecodeError::MissingField(_) | DecodeError::UnsupportedWireType { .. }), _) | (Err(_), Err(_)) => {}
            (peeked, prost) => prop_assert!(false, "{:?}\n{:?}", peeked, prost),
        }
    }
}

#[test]
fn presence_tells_a_batch_of_one_from_a_message() {
    let mut full = proto::MessageMetadata { producer_name: "p".into(), ..Default::default() };
    let bytes = full.encode_to_vec();
    let single = MessageMetadata::peek(&bytes).unwrap();
    assert!(!single.is_batch());
    assert_eq!(single.num_messages(), 1);

    for (count, messages) in [(1, 1), (7, 7), (0, 1), (-3, 1)] {
        full.num_messages_in_batch = Some(count);
        let bytes = full.encode_to_vec();
        let batch = MessageMetadata::peek(&bytes).unwrap();
        assert!(batch.is_batch());
        assert_eq!(batch.num_messages(), messages, "{count}");
    }
}

#[test]
fn required_fields_are_required() {
    let peek = |bytes: &[u8]| MessageMetadata::peek(bytes).unwrap_err();
    let missing = DecodeError::MissingField;
    assert_eq!(peek(b""), missing("MessageMetadata.producer_name"));
    assert_eq!(peek(b"\x0a\x01p"), missing("MessageMetadata.sequence_id"));
    assert_eq!(peek(b"\x0a\x01p\x10\x01"), missing("MessageMetadata.publish_time"));
    assert_eq!(peek(b"\x0a\x01\xff\x10\x01\x18\x01"), DecodeError::InvalidUtf8(1));
    assert_eq!(metadata::decode(b"\x0a\x01p\x10\x01"), Err(missing("MessageMetadata.publish_time")));
    let property_without_value = b"\x0a\x01p\x10\x01\x18\x01\x22\x03\x0a\x01k";
    assert!(MessageMetadata::peek(property_without_value).is_ok());
    assert_eq!(metadata::decode(property_without_value), Err(DecodeError::MissingField("KeyValue.value")));
}

#[test]
fn an_unknown_compression_is_not_taken_for_none() {
    let full = proto::MessageMetadata { compression: Some(99), ..Default::default() };
    let bytes = full.encode_to_vec();
    assert_eq!(MessageMetadata::peek(&bytes).unwrap().compression(), None);
    let full = proto::MessageMetadata { compression: None, ..full };
    let bytes = full.encode_to_vec();
    assert_eq!(MessageMetadata::peek(&bytes).unwrap().compression(), Some(CompressionType::None));
}
