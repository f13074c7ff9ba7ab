//! SEEK and GET_LAST_MESSAGE_ID.

use plerion_test_client::{EARLIEST, Error, LATEST, Outgoing, Position, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::{
    CommandGetLastMessageId, CommandGetLastMessageIdResponse, CommandSeek, CommandSubscribe, MessageIdData,
    command_ack::AckType, command_subscribe::SubType,
};

use crate::support::{Session, World, everywhere, everywhere_with, producer, refusal, subscription};

const TOPIC: &str = "persistent://public/default/seek";

/// Publishes numbers, published at 1000 ms, 2000 ms and so on; where they are.
async fn published(world: &World, count: u64) -> (Session, Vec<Position>) {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    let mut positions = Vec::new();
    for number in 0..count {
        let mut message = Outgoing::new("it", number, number.to_string());
        message.metadata.publish_time = 1_000 * (number + 1);
        positions.push(client.publish_and_wait(1, number, &message.payload()).await.unwrap());
    }
    (client, positions)
}

fn consumer(kind: SubType) -> CommandSubscribe {
    subscription(TOPIC, "s", kind, 1)
}

fn seek(to: impl Into<MessageIdData>) -> CommandSeek {
    CommandSeek { consumer_id: 1, message_id: Some(to.into()), ..Default::default() }
}

fn seek_time(ms: u64) -> CommandSeek {
    CommandSeek { consumer_id: 1, message_publish_time: Some(ms), ..Default::default() }
}

async fn try_seek(client: &mut Session, command: CommandSeek) -> Result<(), Error> {
    client.try_ask(|request_id| CommandSeek { request_id, ..command }).await.map(drop)
}

/// Seeks, comes back, and says what is first.
async fn first_after(client: &mut Session, open: CommandSubscribe, command: CommandSeek) -> Option<String> {
    client.open_consumer(open.clone()).await;
    try_seek(client, command).await.unwrap();
    client.await_kind(Type::CloseConsumer).await.unwrap();
    client.open_consumer(open).await;
    client.flow(1, 1).await.unwrap();
    client.settle(1).await;
    // Failover consumers are told that they are active, too.
    let message = client.arrived().await.iter().find_map(|frame| frame.message().unwrap());
    client.close_consumer(1).await.unwrap();
    message.map(|message| String::from_utf8(message.body.to_vec()).unwrap())
}

/// C++ finishes a seek only when it has seen both, and reconnects on the first.
#[test]
fn the_consumers_are_closed_before_the_answer() {
    everywhere(async |world| {
        for (kind, durable) in [(SubType::Exclusive, true), (SubType::Shared, true), (SubType::Exclusive, false)] {
            let (mut client, positions) = published(world, 3).await;
            let name = format!("{kind:?}-{durable}");
            let open = CommandSubscribe {
                durable: Some(durable),
                start_message_id: (!durable).then(|| EARLIEST.into()),
                ..subscription(TOPIC, &name, kind, 1)
            };
            for _ in 0..20 {
                client.open_consumer(open.clone()).await;
                client.take(1, 1).await;
                let request_id = client.next_request();
                client.send(CommandSeek { request_id, ..seek(positions[0]) }).await.unwrap();
                let close = client.receive().await.unwrap().command.close_consumer.expect("CLOSE_CONSUMER first");
                assert_eq!((close.consumer_id, close.request_id), (1, u64::MAX));
                let success = client.receive().await.unwrap().command.success.expect("SUCCESS then");
                assert_eq!(success.request_id, request_id);
            }
        }
    });
}

#[test]
fn a_seek_by_id_goes_to_that_entry() {
    for kind in [SubType::Exclusive, SubType::Shared, SubType::Failover, SubType::KeyShared] {
        everywhere(async |world| {
            let (mut client, positions) = published(world, 4).await;
            let open = consumer(kind);
            let last = positions[3];
            for (to, first) in [
                (positions[2], Some("2")),
                (positions[0], Some("0")),
                (last, Some("3")),
                (EARLIEST, Some("0")),
                (LATEST, None),
                (Position { entry: last.entry + 1, ..last }, None),
                (Position { entry: 1 << 62, ..last }, None),
                (Position { ledger: last.ledger + 99, entry: 0 }, None),
                (Position { ledger: 0, entry: 0 }, Some("0")),
                (positions[1], Some("1")),
            ] {
                let found = first_after(&mut client, open.clone(), seek(to)).await;
                assert_eq!(found.as_deref(), first, "{kind:?} to {to:?}");
            }
        });
    }
}

#[test]
fn a_seek_by_time_goes_to_the_first_published_then_or_later() {
    everywhere(async |world| {
        let (mut client, _) = published(world, 4).await;
        for (ms, first) in [
            (0, Some("0")),
            (1_000, Some("0")),
            (1_001, Some("1")),
            (2_000, Some("1")),
            (4_000, Some("3")),
            (4_001, None),
            (i64::MAX as u64, None),
            (u64::MAX, None),
        ] {
            let found = first_after(&mut client, consumer(SubType::Exclusive), seek_time(ms)).await;
            assert_eq!(found.as_deref(), first, "to {ms}");
        }
    });
}

#[test]
fn a_seek_may_end_within_a_batch() {
    everywhere_with(&[("acknowledgmentAtBatchIndexLevelEnabled", "true")], async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        let position = client.say_batch(1, 0, &["a", "b", "c"]).await;
        client.open_consumer(consumer(SubType::Exclusive)).await;
        let to = MessageIdData { ack_set: vec![0b100], batch_index: Some(2), ..position.into() };
        try_seek(&mut client, seek(to)).await.unwrap();
        client.await_kind(Type::CloseConsumer).await.unwrap();
        client.open_consumer(consumer(SubType::Exclusive)).await;
        assert_eq!(client.take(1, 1).await[0].command.ack_set, [0b100]);
    });
}

/// What was acknowledged beyond the target comes again, once.
#[test]
fn a_seek_forgets_acknowledgements_and_counts() {
    everywhere(async |world| {
        let (mut client, positions) = published(world, 4).await;
        client.open_consumer(consumer(SubType::Shared)).await;
        let messages = client.take(1, 4).await;
        client.acknowledge(1, &[messages[1].id(), messages[3].id()]).await;
        let again = plerion_wire::proto::CommandRedeliverUnacknowledgedMessages {
            consumer_id: 1,
            message_ids: vec![messages[2].id()],
            consumer_epoch: None,
        };
        client.send(again).await.unwrap();
        try_seek(&mut client, seek(positions[1])).await.unwrap();
        client.await_kind(Type::CloseConsumer).await.unwrap();
        client.open_consumer(consumer(SubType::Shared)).await;
        assert_eq!(client.stats(1).await.msg_backlog, Some(3));
        client.flow(1, 100).await.unwrap();
        for text in ["1", "2", "3"] {
            let message = client.message().await;
            assert_eq!((message.text(), message.command.redelivery_count()), (text, 0));
        }
        client.nothing_for(1).await;
    });
}

/// Everybody on the subscription has to come back, wherever they are.
#[test]
fn a_seek_closes_the_consumers_of_all_connections() {
    everywhere(async |world| {
        let (mut client, positions) = published(world, 2).await;
        client.open_consumer(consumer(SubType::Shared)).await;
        let mut others = Vec::new();
        for id in 2..5 {
            let mut other = world.session().await;
            other.open_consumer(subscription(TOPIC, "s", SubType::Shared, id)).await;
            others.push(other);
        }
        try_seek(&mut client, seek(positions[1])).await.unwrap();
        for (other, id) in others.iter_mut().zip(2..) {
            let close = other.await_kind(Type::CloseConsumer).await.unwrap().command.close_consumer.unwrap();
            assert_eq!(close.consumer_id, id);
        }
        world.until_attached(TOPIC, 1, 0).await;
    });
}

/// apache/pulsar#11825, apache/pulsar-client-go#1265: seeks and subscriptions at once.
#[test]
fn racing_seeks_leave_a_subscription_that_works() {
    everywhere(async |world| {
        let (mut client, positions) = published(world, 10).await;
        let mut clients = Vec::new();
        for id in 0..4 {
            let mut other = world.session().await;
            other.open_consumer(subscription(TOPIC, "s", SubType::Shared, id)).await;
            clients.push(other);
        }
        for position in positions {
            let races = clients.iter_mut().zip(0..).map(async |(client, consumer_id)| {
                let to = seek(position);
                let sought = try_seek(client, CommandSeek { consumer_id, ..to }).await;
                if let Err(Error::Refused { code, message }) = sought {
                    let retried = [ServerError::ServiceNotReady, ServerError::MetadataError];
                    assert!(retried.contains(&code), "{code:?}: {message}");
                }
                // As clients do: again and again until it works.
                loop {
                    let open = |request_id| CommandSubscribe {
                        request_id,
                        ..subscription(TOPIC, "s", SubType::Shared, consumer_id)
                    };
                    match client.try_ask(open).await {
                        Ok(_) => break,
                        Err(error) => assert_eq!(error.code(), Some(ServerError::ServiceNotReady), "{error}"),
                    }
                }
            });
            futures::future::join_all(races).await;
        }
        for other in clients {
            drop(other);
        }
        world.until_attached(TOPIC, 1, 0).await;
        client.open_consumer(consumer(SubType::Shared)).await;
        client.flow(1, 100).await.unwrap();
        assert_eq!(client.texts(1).await, ["9"]);
        client.nothing_for(1).await;
    });
}

#[test]
fn a_seek_that_cannot_be_is_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let (code, _) = refusal(try_seek(&mut client, seek(EARLIEST)).await);
        assert_eq!(code, ServerError::MetadataError, "no such consumer");
        let passing = subscription("non-persistent://public/default/p", "s", SubType::Shared, 1);
        client.open_consumer(passing).await;
        let (code, _) = refusal(try_seek(&mut client, seek(EARLIEST)).await);
        assert_eq!(code, ServerError::NotAllowedError);
        client.close_consumer(1).await.unwrap();
        client.open_consumer(consumer(SubType::Shared)).await;
        let nowhere = CommandSeek { consumer_id: 1, ..Default::default() };
        assert!(try_seek(&mut client, nowhere).await.is_err());
        client.nothing_for(1).await;
    });
}

async fn last(client: &mut Session, consumer_id: u64) -> CommandGetLastMessageIdResponse {
    let answer = client.ask(|request_id| CommandGetLastMessageId { request_id, consumer_id }).await;
    *answer.get_last_message_id_response.unwrap()
}

const NOWHERE: Position = EARLIEST;

/// Table views begin with this question (a refusal breaks every one of them).
#[test]
fn the_last_message_of_an_empty_topic_is_before_all() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_consumer(consumer(SubType::Exclusive)).await;
        let found = last(&mut client, 1).await;
        assert_eq!(Position::from(&found.last_message_id), NOWHERE);
        assert_eq!(found.last_message_id.batch_index(), -1);
        assert_eq!(found.last_message_id.partition(), -1);
        assert!(found.consumer_mark_delete_position.is_some());
    });
}

#[test]
fn the_last_message_is_where_it_was_stored() {
    everywhere(async |world| {
        let (mut client, positions) = published(world, 2).await;
        client.open_consumer(consumer(SubType::Exclusive)).await;
        let found = last(&mut client, 1).await;
        assert_eq!(Position::from(&found.last_message_id), positions[1]);
        assert_eq!(found.last_message_id.batch_index(), -1);
        let batch = client.say_batch(1, 2, &["a", "b", "c"]).await;
        let found = last(&mut client, 1).await.last_message_id;
        assert_eq!((Position::from(&found), found.batch_index()), (batch, 2));
        // A batch of one is still a batch.
        let batch = client.say_batch(1, 5, &["d"]).await;
        let found = last(&mut client, 1).await.last_message_id;
        assert_eq!((Position::from(&found), found.batch_index()), (batch, 0));
        // The same after the topic was opened anew.
        world.unload(TOPIC).await;
        client.await_kind(Type::CloseConsumer).await.unwrap();
        client.open_consumer(consumer(SubType::Exclusive)).await;
        let found = last(&mut client, 1).await.last_message_id;
        assert_eq!((Position::from(&found), found.batch_index()), (batch, 0));
    });
}

/// C++ decides by this whether there is a message for a reader that started at the end.
#[test]
fn the_mark_delete_position_is_always_told() {
    everywhere(async |world| {
        let (mut client, positions) = published(world, 3).await;
        client.open_consumer(consumer(SubType::Exclusive)).await;
        let messages = client.take(1, 3).await;
        client.ack_and_wait(1, AckType::Cumulative, &[messages[1].id()]).await.unwrap();
        let found = last(&mut client, 1).await;
        assert_eq!(found.consumer_mark_delete_position.as_ref().map(Position::from), Some(positions[1]));
        let at_end = CommandSubscribe {
            durable: Some(false),
            start_message_id: Some(LATEST.into()),
            ..subscription(TOPIC, "reader", SubType::Exclusive, 2)
        };
        client.open_consumer(at_end).await;
        let found = last(&mut client, 2).await;
        assert_eq!(found.consumer_mark_delete_position.as_ref().map(Position::from), Some(positions[2]));
    });
}

#[test]
fn the_last_message_of_a_partition_names_it() {
    everywhere(async |world| {
        world.partition(TOPIC, 2).await;
        let partition = format!("{TOPIC}-partition-1");
        let mut client = world.session().await;
        client.open_producer(producer(&partition, 1)).await;
        client.say(1, 0, "x").await;
        client.open_consumer(subscription(&partition, "s", SubType::Exclusive, 1)).await;
        assert_eq!(last(&mut client, 1).await.last_message_id.partition(), 1);
    });
}

#[test]
fn the_last_message_for_nobody_is_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let question = |request_id| CommandGetLastMessageId { request_id, consumer_id: 1 };
        let (code, text) = client.refusal(question).await;
        assert_eq!((code, &*text), (ServerError::MetadataError, "Consumer not found"));
        client.open_consumer(subscription("non-persistent://public/default/p", "s", SubType::Shared, 1)).await;
        let (code, _) = client.refusal(question).await;
        assert!(matches!(code, ServerError::NotAllowedError | ServerError::MetadataError), "{code:?}");
    });
}
