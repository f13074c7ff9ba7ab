//! Hand-decoded commands against prost: the same verdict and the same values.

use plerion_wire::{
    Command, DecodeError,
    command::{Ack, AckType, Flow, MessageId, Redeliver, Send, TxnId, ValidationError},
    proto::{self, BaseCommand, MessageIdData},
};
use proptest::prelude::*;
use prost::Message as _;

use crate::mutate::{arb_damage, damaged};

/// Numbers of every encoded length.
pub(crate) fn arb_u64() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift)
}

prop_compose! {
    fn arb_flat_id()(
        ledger_id in arb_u64(),
        entry_id in arb_u64(),
        numbers in any::<[Option<i32>; 3]>(),
        ack_set in prop::collection::vec(any::<i64>(), 0..4),
    ) -> MessageIdData {
        let [partition, batch_index, batch_size] = numbers;
        MessageIdData { ledger_id, entry_id, partition, batch_index, ack_set, batch_size, first_chunk_message_id: None }
    }
}

prop_compose! {
    fn arb_id()(id in arb_flat_id(), first_chunk in prop::option::of(arb_flat_id())) -> MessageIdData {
        MessageIdData { first_chunk_message_id: first_chunk.map(Box::new), ..id }
    }
}

prop_compose! {
    fn arb_send()(
        ids in (arb_u64(), arb_u64()),
        num_messages in any::<Option<i32>>(),
        numbers in prop::array::uniform3(prop::option::of(arb_u64())),
        flags in any::<[Option<bool>; 2]>(),
        message_id in prop::option::of(arb_id()),
    ) -> BaseCommand {
        proto::CommandSend {
            producer_id: ids.0,
            sequence_id: ids.1,
            num_messages,
            txnid_least_bits: numbers[0],
            txnid_most_bits: numbers[1],
            highest_sequence_id: numbers[2],
            is_chunk: flags[0],
            marker: flags[1],
            message_id,
        }.into()
    }
}

prop_compose! {
    fn arb_ack()(
        consumer_id in arb_u64(),
        ack_type in 0..2,
        message_id in prop::collection::vec(arb_id(), 0..5),
        validation_error in prop::option::of(0..6),
        properties in prop::collection::vec(("[a-zé]{0,4}", arb_u64()), 0..3),
        numbers in prop::array::uniform3(prop::option::of(arb_u64())),
    ) -> BaseCommand {
        proto::CommandAck {
            consumer_id,
            ack_type,
            message_id,
            validation_error,
            properties: properties.into_iter().map(|(key, value)| proto::KeyLongValue { key, value }).collect(),
            txnid_least_bits: numbers[0],
            txnid_most_bits: numbers[1],
            request_id: numbers[2],
        }.into()
    }
}

fn arb_command() -> impl Strategy<Value = BaseCommand> {
    prop_oneof![
        arb_send(),
        arb_ack(),
        (arb_u64(), any::<u32>())
            .prop_map(|(consumer_id, message_permits)| { proto::CommandFlow { consumer_id, message_permits }.into() }),
        (arb_u64(), prop::collection::vec(arb_id(), 0..5), prop::option::of(arb_u64())).prop_map(
            |(consumer_id, message_ids, consumer_epoch)| {
                proto::CommandRedeliverUnacknowledgedMessages { consumer_id, message_ids, consumer_epoch }.into()
            }
        ),
    ]
}

fn txn(most_bits: Option<u64>, least_bits: Option<u64>) -> Option<TxnId> {
    most_bits.zip(least_bits).map(|(most_bits, least_bits)| TxnId { most_bits, least_bits })
}

fn same_id(read: MessageId<'_>, id: &MessageIdData) -> bool {
    read.ledger_id == id.ledger_id
        && read.entry_id == id.entry_id
        && read.partition == id.partition()
        && read.batch_index == id.batch_index()
        && read.batch_size == id.batch_size
        && read.ack_set.is_empty() == id.ack_set.is_empty()
        && read.ack_set.iter().eq(id.ack_set.iter().map(|word| *word as u64))
}

fn same_ids(read: plerion_wire::command::MessageIds<'_>, ids: &[MessageIdData]) -> bool {
    read.len() == ids.len()
        && read.iter().count() == ids.len()
        && read.iter().zip(ids).all(|(read, id)| same_id(read, id))
}

fn same_send(read: &Send<'_>, send: &proto::CommandSend) -> bool {
    read.producer_id == send.producer_id
        && read.sequence_id == send.sequence_id
        && read.highest_sequence_id == send.highest_sequence_id
        && read.num_messages == send.num_messages()
        && read.txn == txn(send.txnid_most_bits, send.txnid_least_bits)
        && read.is_chunk == send.is_chunk()
        && read.marker == send.marker()
        && read.message_id.is_some() == send.message_id.is_some()
        && read.message_id.zip(send.message_id.as_ref()).is_none_or(|(read, id)| same_id(read, id))
}

fn same_ack(read: &Ack<'_>, ack: &proto::CommandAck) -> bool {
    read.consumer_id == ack.consumer_id
        && Ok(read.ack_type) == AckType::try_from(ack.ack_type)
        && same_ids(read.message_ids, &ack.message_id)
        && read.validation_error == ack.validation_error.and_then(|error| ValidationError::try_from(error).ok())
        && read.properties.iter().eq(ack.properties.iter().map(|pair| (pair.key.as_str(), pair.value)))
        && read.txn == txn(ack.txnid_most_bits, ack.txnid_least_bits)
        && read.request_id == ack.request_id
}

fn same(read: &Command<'_>, command: &BaseCommand) -> bool {
    match read {
        Command::Send(read) => command.send.as_ref().is_some_and(|send| same_send(read, send)),
        Command::Ack(read) => command.ack.as_ref().is_some_and(|ack| same_ack(read, ack)),
        Command::Flow(Flow { consumer_id, permits }) => command
            .flow
            .as_ref()
            .is_some_and(|flow| *consumer_id == flow.consumer_id && *permits == flow.message_permits),
        Command::Redeliver(Redeliver { consumer_id, message_ids, consumer_epoch }) => {
            command.redeliver_unacknowledged_messages.as_ref().is_some_and(|redeliver| {
                *consumer_id == redeliver.consumer_id
                    && *consumer_epoch == redeliver.consumer_epoch
                    && same_ids(*message_ids, &redeliver.message_ids)
            })
        }
        _ => false,
    }
}

/// Encodes the body of a hot command, damaged, in an envelope that is not.
fn with_damaged_body(command: &BaseCommand, damage: &[crate::mutate::Damage]) -> Vec<u8> {
    let body = match command {
        BaseCommand { send: Some(body), .. } => body.encode_to_vec(),
        BaseCommand { ack: Some(body), .. } => body.encode_to_vec(),
        BaseCommand { flow: Some(body), .. } => body.encode_to_vec(),
        BaseCommand { redeliver_unacknowledged_messages: Some(body), .. } => body.encode_to_vec(),
        _ => unreachable!("not generated"),
    };
    let mut bytes = vec![8, command.r#type as u8];
    prost::encoding::encode_key(command.r#type as u32, prost::encoding::WireType::LengthDelimited, &mut bytes);
    let body = damaged(body, damage);
    prost::encoding::encode_varint(body.len() as u64, &mut bytes);
    [bytes, body].concat()
}

proptest! {
    #[test]
    fn reads_what_prost_writes(command in arb_command()) {
        let bytes = command.encode_to_vec();
        let read = Command::decode(&bytes).unwrap();
        prop_assert!(same(&read, &command), "{read:?}\n{command:?}");
    }

    /// prost takes two things that are refused here: groups, and required fields that are missing (or hold an enum
    /// value that is not known).
    #[test]
    fn judges_damaged_commands_as_prost_does(command in arb_command(), damage in arb_damage()) {
        let bytes = with_damaged_body(&command, &damage);
        let read = Command::decode(&bytes);
        match (&read, BaseCommand::decode(&bytes[..])) {
            (Ok(read), Ok(command)) => prop_assert!(same(read, &command), "{read:?}\n{command:?}"),
            (Err(DecodeError::MissingField(_) | DecodeError::UnsupportedWireType { .. }), _) | (Err(_), Err(_)) => {}
            (read, prost) => prop_assert!(false, "{read:?}\n{prost:?}"),
        }
    }

    #[test]
    fn ack_sets_may_be_packed(words in prop::collection::vec(any::<i64>(), 0..5)) {
        let mut id = vec![8, 1, 16, 2];
        prost::encoding::int64::encode_packed(5, &words, &mut id);
        let mut bytes = vec![8, 6, 6 << 3 | 2, id.len() as u8 + 6, 8, 1, 16, 1, 9 << 3 | 2, id.len() as u8];
        bytes.extend(id);
        let Ok(Command::Send(send)) = Command::decode(&bytes) else { panic!("not read") };
        prop_assert!(send.message_id.unwrap().ack_set.iter().eq(words.iter().map(|word| *word as u64)));
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..64), kind in 0_u8..70) {
        let _ = Command::decode(&bytes);
        let _ = Command::decode(&[&[8, kind], &bytes[..]].concat());
    }
}
