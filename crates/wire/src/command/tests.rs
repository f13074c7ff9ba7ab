use prost::Message as _;

use super::*;
use crate::proto::{
    CommandConnect, CommandFlow, CommandGetOrCreateSchema, CommandPing, CommandPong, CommandSeek, MessageIdData, Schema,
};

/// A length-delimited field of number 1 to 15.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

fn typed(kind: u8, rest: &[u8]) -> Vec<u8> {
    [&[8, kind], rest].concat()
}

const FLOW: &[u8] = &[8, 3, 16, 100];

#[test]
fn order_of_type_and_body_does_not_matter() {
    let flow = Ok(Command::Flow(Flow { consumer_id: 3, permits: 100 }));
    assert_eq!(Command::decode(&typed(11, &field(11, FLOW))), flow);
    assert_eq!(Command::decode(&[field(11, FLOW), vec![8, 11]].concat()), flow);
}

#[test]
fn bodies_of_other_commands_and_unknown_fields_are_passed_over() {
    let flow = Ok(Command::Flow(Flow { consumer_id: 3, permits: 100 }));
    let unknown = [0xF8, 0x7F, 1]; // field 2047, a varint
    let command = [field(2, b"\xFF"), field(11, FLOW), field(12, b"\xFF"), unknown.to_vec()].concat();
    assert_eq!(Command::decode(&typed(11, &command)), flow);
}

#[test]
fn a_body_must_be_there_once() {
    assert_eq!(Command::decode(&[8, 11]), Err(DecodeError::MissingBody(11)));
    assert_eq!(Command::decode(&typed(11, &field(10, FLOW))), Err(DecodeError::MissingBody(11)));
    let twice = typed(11, &[field(11, FLOW), field(11, FLOW)].concat());
    assert_eq!(Command::decode(&twice), Err(DecodeError::RepeatedBody(11)));
    assert_eq!(Command::decode(&[8, 2]), Err(DecodeError::MissingBody(2)));
    assert_eq!(Command::decode(&[8, 11, 11 << 3, 0]), Err(DecodeError::WrongWireType(11)));
}

#[test]
fn ping_and_pong_need_no_body() {
    assert_eq!(Command::decode(&[8, 18]), Ok(Command::Ping));
    assert_eq!(Command::decode(&BaseCommand::from(CommandPing {}).encode_to_vec()), Ok(Command::Ping));
    assert_eq!(Command::decode(&[8, 19]), Ok(Command::Pong));
    assert_eq!(Command::decode(&BaseCommand::from(CommandPong {}).encode_to_vec()), Ok(Command::Pong));
}

#[test]
fn unknown_types_are_no_errors() {
    for kind in [0, 1, 41, 49, 69, 70, 81, 127] {
        assert_eq!(Command::decode(&[8, kind]), Ok(Command::Unknown(i32::from(kind))));
    }
    assert_eq!(
        Command::decode(&[8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]),
        Ok(Command::Unknown(-1))
    );
}

#[test]
fn a_type_is_required() {
    let missing = Err(DecodeError::MissingField("BaseCommand.type"));
    assert_eq!(Command::decode(&[]), missing);
    assert_eq!(Command::decode(&field(11, FLOW)), missing);
}

#[test]
fn other_commands_become_prost_messages() {
    let connect = BaseCommand::from(CommandConnect {
        client_version: "Pulsar-Java-v4.0.7".into(),
        protocol_version: Some(21),
        ..Default::default()
    });
    assert_eq!(Command::decode(&connect.encode_to_vec()), Ok(Command::Other(Box::new(connect))));
}

#[test]
fn required_fields_are_required_at_every_level() {
    // prost always writes required fields: leave them out by hand.
    let missing = |command: &[u8]| match Command::decode(command) {
        Err(DecodeError::MissingField(field)) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing(&typed(2, &field(2, b""))), "CommandConnect.client_version");
    assert_eq!(missing(&typed(6, &field(6, &[8, 1]))), "CommandSend.sequence_id");
    assert_eq!(missing(&typed(6, &field(6, &[16, 1]))), "CommandSend.producer_id");
    assert_eq!(missing(&typed(10, &field(10, &[8, 1]))), "CommandAck.ack_type");
    assert_eq!(missing(&typed(10, &field(10, &[8, 1, 16, 2]))), "CommandAck.ack_type", "2 is no type");
    assert_eq!(missing(&typed(11, &field(11, &[8, 1]))), "CommandFlow.messagePermits");

    let id = field(3, &[8, 1]); // a ledger without an entry
    assert_eq!(missing(&typed(10, &field(10, &[&[8, 1, 16, 0], &id[..]].concat()))), "MessageIdData.entryId");
    let property = field(5, &field(1, b"key"));
    assert_eq!(missing(&typed(10, &field(10, &[&[8, 1, 16, 0], &property[..]].concat()))), "KeyLongValue.value");

    let mut seek = CommandSeek { message_id: Some(MessageIdData::default()), ..Default::default() };
    assert!(matches!(Command::decode(&BaseCommand::from(seek.clone()).encode_to_vec()), Ok(Command::Other(_))));
    seek.message_id = None;
    let mut body = seek.encode_to_vec();
    body.extend(field(3, b""));
    let seek = [&[8, 28, 0xE2, 1, body.len() as u8], &body[..]].concat();
    assert_eq!(missing(&seek), "MessageIdData.ledgerId");
}

#[test]
fn strings_of_prost_messages_are_checked() {
    let command = typed(2, &field(2, &field(1, b"\xFF")));
    assert!(matches!(Command::decode(&command), Err(DecodeError::Malformed(_))));
}

#[test]
fn groups_are_refused() {
    let group = [0xA3, 1, 0xA4, 1]; // field 20, started and ended
    let command = typed(11, &field(11, &[FLOW, &group].concat()));
    assert_eq!(Command::decode(&command), Err(DecodeError::UnsupportedWireType { number: 20, wire_type: 3 }));
}

#[test]
fn nesting_is_bounded() {
    let mut id = vec![8, 1, 16, 1];
    for _ in 0..1000 {
        let mut outer = vec![8, 1, 16, 1, 7 << 3 | 2];
        prost::encoding::encode_varint(id.len() as u64, &mut outer);
        outer.append(&mut id);
        id = outer;
    }
    let wrap = |number: u8, bytes: &[u8]| {
        let mut out = vec![number << 3 | 2];
        prost::encoding::encode_varint(bytes.len() as u64, &mut out);
        [&out, bytes].concat()
    };
    let ack = typed(10, &wrap(10, &[&[8, 1, 16, 0], &wrap(3, &id)[..]].concat()));
    assert_eq!(Command::decode(&ack), Err(DecodeError::TooDeep { limit: 16 }));
    let subscribe = typed(4, &wrap(4, &wrap(9, &id)));
    assert_eq!(Command::decode(&subscribe), Err(DecodeError::TooDeep { limit: 16 }));
}

#[test]
fn ack_sets_are_checked() {
    let ack = |ack_set: &[u8]| {
        let id = [&[8, 1, 16, 1], ack_set].concat();
        typed(10, &field(10, &[&[8, 1, 16, 0], &field(3, &id)[..]].concat()))
    };
    let words = |ack_set: &[u8]| match Command::decode(&ack(ack_set)) {
        Ok(Command::Ack(ack)) => Ok(ack.message_ids.iter().next().unwrap().ack_set.iter().collect::<Vec<_>>()),
        Ok(command) => panic!("{command:?}"),
        Err(error) => Err(error),
    };
    assert_eq!(words(&[]), Ok(vec![]));
    assert_eq!(words(&[40, 1, 40, 2]), Ok(vec![1, 2]));
    assert_eq!(words(&field(5, &[1, 2])), Ok(vec![1, 2]));
    assert_eq!(words(&[&field(5, &[1, 2])[..], &[40, 3], &field(5, &[])].concat()), Ok(vec![1, 2, 3]));
    assert_eq!(words(&field(5, &[1, 0x80])), Err(DecodeError::Truncated));
    assert_eq!(words(&[5 << 3 | 5, 0, 0, 0, 0]), Err(DecodeError::WrongWireType(5)));
}

#[test]
fn bytes_of_commands_survive() {
    let schema = Schema { name: "s".into(), schema_data: vec![0, 0xFF].into(), r#type: 21, properties: vec![] };
    let command = BaseCommand::from(CommandGetOrCreateSchema { request_id: 1, topic: "t".into(), schema });
    assert_eq!(Command::decode(&command.encode_to_vec()), Ok(Command::Other(Box::new(command))));
}

#[test]
fn every_body_is_carried_in_the_field_of_its_type() {
    let command = BaseCommand::from(CommandFlow { consumer_id: 3, message_permits: 100 });
    assert_eq!(command.encode_to_vec(), typed(11, &field(11, FLOW)));
}
