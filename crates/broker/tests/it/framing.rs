//! Frames: how commands arrive.

use bytes::BytesMut;
use plerion_test_client::{Outgoing, Type};
use plerion_wire::encode;
use plerion_wire::proto::{
    BaseCommand, CommandConsumerStats, CommandPing, CommandSend, base_command, command_subscribe::SubType,
};
use prost::Message;

use crate::support::{World, everywhere, everywhere_with, on_one_shard, producer, subscription};

const TOPIC: &str = "persistent://public/default/framing";

/// The bytes of a conversation: commands and messages mixed.
fn conversation() -> BytesMut {
    let mut bytes = BytesMut::new();
    for sequence_id in 0..5 {
        let payload = Outgoing::new("it", sequence_id, format!("{sequence_id}")).payload();
        let send = CommandSend { producer_id: 1, sequence_id, ..Default::default() };
        encode::command_with_payload(&send.into(), payload.len(), &mut bytes);
        bytes.extend_from_slice(&payload);
        encode::command(&CommandPing {}.into(), &mut bytes);
    }
    bytes
}

/// Sends the conversation in pieces of `size` bytes and checks that all of it was understood.
async fn converse(world: &World, size: usize) {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    for piece in conversation().chunks(size) {
        client.send_bytes(piece).await.unwrap();
    }
    for sequence_id in 0..5 {
        assert_eq!(client.receipt().await.sequence_id, sequence_id);
        client.await_kind(Type::Pong).await.unwrap();
    }
}

#[test]
fn many_frames_in_one_segment() {
    everywhere(async |world| converse(world, usize::MAX).await);
}

#[test]
fn one_frame_over_many_segments() {
    everywhere(async |world| {
        for size in [7, 64, 100] {
            converse(world, size).await;
        }
    });
}

#[test]
fn byte_by_byte() {
    everywhere(async |world| converse(world, 1).await);
}

/// Larger than what one read takes, and in the middle of smaller ones.
#[test]
fn a_frame_larger_than_the_read_buffer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let large = "x".repeat(1_500_000);
        client.say(1, 0, "before").await;
        client.say(1, 1, &large).await;
        client.say(1, 2, "after").await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        let texts: Vec<_> = client.take(1, 3).await.iter().map(|message| message.text().to_owned()).collect();
        assert_eq!(texts, ["before", &large, "after"]);
    });
}

/// A connection that said `bytes` is closed and counted, and the broker serves others.
async fn closes_on(world: &World, what: &str, bytes: &[u8]) {
    let before = world.count(|shard| &shard.malformed);
    let mut client = world.session().await;
    client.send_bytes(bytes).await.unwrap();
    client.await_close().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(world.count(|shard| &shard.malformed), before + 1, "{what}");
    converse(world, usize::MAX).await;
}

#[test]
fn malformed_frames_close_the_connection_and_are_counted() {
    everywhere(async |world| {
        let frame = |body: &[u8]| {
            let mut bytes = u32::try_from(body.len() + 4).unwrap().to_be_bytes().to_vec();
            bytes.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
            bytes.extend_from_slice(body);
            bytes
        };
        closes_on(world, "no room for a command", &[0, 0, 0, 4, 0, 0, 0, 0]).await;
        closes_on(world, "an empty frame", &[0, 0, 0, 0]).await;
        closes_on(world, "an empty command", &[0, 0, 0, 6, 0, 0, 0, 0, 1, 2]).await;
        closes_on(world, "a command beyond its frame", &[0, 0, 0, 6, 0, 0, 0, 9, 1, 2]).await;
        closes_on(world, "a command of 4 GiB", &[0, 0, 0, 6, 0xff, 0xff, 0xff, 0xff]).await;
        closes_on(world, "not protobuf", &frame(&[0xff; 9])).await;
        closes_on(world, "no type", &frame(&[0x12, 0])).await;
        closes_on(world, "a SEND without its body", &frame(&[0x08, 6])).await;
        closes_on(world, "a FLOW without its fields", &frame(&[0x08, 11, 0x5a, 0])).await;
        closes_on(world, "a PRODUCER without its topic", &frame(&[0x08, 5, 0x2a, 2, 0x10, 1])).await;
    });
}

#[test]
fn a_frame_over_the_limit_closes_the_connection_before_it_is_received() {
    everywhere_with(&[("maxMessageSize", "1048576")], async |world| {
        let limit: u32 = 1_048_576 + 10_240;
        closes_on(world, "over the limit", &(limit - 3).to_be_bytes()).await;
        closes_on(world, "4 GiB", &[0xff; 4]).await;
        // One at the limit is taken: this one is never finished.
        let mut client = world.session().await;
        client.send_bytes(&(limit - 4).to_be_bytes()).await.unwrap();
        client.send_bytes(&[0, 0, 0, 5]).await.unwrap();
        converse(world, usize::MAX).await;
        world.until("it alone is left", async |world| world.open_connections() == 1).await;
    });
}

/// A frame that the client never finishes is no violation: the connection just ends.
#[test]
fn a_truncated_frame_ends_with_its_connection() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let bytes = conversation();
        client.send_bytes(&bytes[..bytes.len() - 20]).await.unwrap();
        drop(client);
        world.until("everything is closed", async |world| world.open_connections() == 0).await;
        converse(world, usize::MAX).await;
    });
}

/// Newer clients may know commands that this broker does not.
#[test]
fn unknown_commands_are_ignored() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for kind in [1, 69, 75, 500, i32::MAX] {
            let mut bytes = BytesMut::new();
            encode::command(&BaseCommand { r#type: kind, ..Default::default() }, &mut bytes);
            client.send_bytes(&bytes).await.unwrap();
        }
        client.send(CommandPing {}).await.unwrap();
        client.await_kind(Type::Pong).await.unwrap();
        assert_eq!(world.count(|shard| &shard.malformed), 0);
    });
}

/// Fields that this broker does not know, in a command that it does.
#[test]
fn unknown_fields_are_ignored() {
    on_one_shard(&[], async |world| {
        let mut client = world.session().await;
        let command: BaseCommand = CommandConsumerStats { request_id: 7, consumer_id: 1 }.into();
        let mut encoded = command.encode_to_vec();
        // Field 1000, a varint.
        encoded.extend_from_slice(&[0xc0, 0x3e, 1]);
        let mut bytes = u32::try_from(encoded.len() + 4).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(&u32::try_from(encoded.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(&encoded);
        client.send_bytes(&bytes).await.unwrap();
        let answer = client.await_kind(base_command::Type::ConsumerStatsResponse).await.unwrap();
        assert_eq!(answer.command.consumer_stats_response.unwrap().request_id, 7);
    });
}

/// What only brokers say is ignored when a client says it.
#[test]
fn commands_of_brokers_are_ignored() {
    on_one_shard(&[], async |world| {
        let mut client = world.session().await;
        let success = plerion_wire::proto::CommandSuccess { request_id: 1, schema: None };
        client.send(success).await.unwrap();
        client.send(CommandPing {}).await.unwrap();
        client.await_kind(Type::Pong).await.unwrap();
    });
}
