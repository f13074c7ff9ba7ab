//! ACK and REDELIVER_UNACKNOWLEDGED_MESSAGES.

use plerion_test_client::{Position, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::command_ack::AckType;
use plerion_wire::proto::{
    CommandAck, CommandRedeliverUnacknowledgedMessages, CommandSubscribe, MessageIdData, command_ack,
    command_subscribe::SubType,
};

use crate::support::{Delivered, Session, World, everywhere, everywhere_with, name, producer, refusal, subscription};

const TOPIC: &str = "persistent://public/default/acks";

/// Publishes `count` numbers and gives them to consumer 1 of subscription `s`.
async fn consuming(world: &World, kind: SubType, count: u64) -> (Session, Vec<Delivered>) {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    for number in 0..count {
        client.say(1, number, &number.to_string()).await;
    }
    client.open_consumer(subscription(TOPIC, "s", kind, 1)).await;
    let messages = client.take(1, u32::try_from(count).unwrap()).await;
    (client, messages)
}

/// What comes to a new consumer.
async fn left(client: &mut Session, kind: SubType) -> Vec<String> {
    client.close_consumer(1).await.unwrap();
    client.open_consumer(subscription(TOPIC, "s", kind, 1)).await;
    client.flow(1, 1_000).await.unwrap();
    client.settle(1).await;
    let frames = client.arrived().await.into_iter();
    let entries = frames.map(|frame| frame.command.message.unwrap().message_id.entry_id);
    entries.map(|entry| entry.to_string()).collect()
}

async fn mark_delete(world: &World) -> String {
    let stats = world.handle().internal_stats(&name(TOPIC)).await.unwrap();
    stats.cursors["s"].mark_delete_position.clone()
}

#[test]
fn individual_acks_leave_the_rest() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 6).await;
        let ids: Vec<_> = [0, 2, 3].map(|index: usize| messages[index].id()).into();
        client.acknowledge(1, &ids).await;
        assert_eq!(client.stats(1).await.unacked_messages, Some(3));
        assert_eq!(client.stats(1).await.msg_backlog, Some(3));
        let ledger = messages[0].position().ledger;
        assert_eq!(mark_delete(world).await, format!("{ledger}:0"));
        client.acknowledge(1, &[messages[1].id()]).await;
        assert_eq!(mark_delete(world).await, format!("{ledger}:3"));
        assert_eq!(left(&mut client, SubType::Shared).await, ["4", "5"]);
    });
}

#[test]
fn a_cumulative_ack_covers_all_before() {
    for kind in [SubType::Exclusive, SubType::Failover] {
        everywhere(async |world| {
            let (mut client, messages) = consuming(world, kind, 6).await;
            client.ack_and_wait(1, AckType::Cumulative, &[messages[3].id()]).await.unwrap();
            client.arrived().await;
            client.close_consumer(1).await.unwrap();
            client.open_consumer(subscription(TOPIC, "s", kind, 1)).await;
            client.flow(1, 100).await.unwrap();
            assert_eq!(client.texts(2).await, ["4", "5"]);
            client.ack_and_wait(1, AckType::Cumulative, &[messages[5].id()]).await.unwrap();
            assert_eq!(client.stats(1).await.msg_backlog, Some(0));
        });
    }
}

/// Clients refuse it themselves; one that does not must not lose other consumers' messages.
#[test]
fn a_cumulative_ack_of_a_shared_subscription_is_ignored() {
    for kind in [SubType::Shared, SubType::KeyShared] {
        everywhere(async |world| {
            let (mut client, messages) = consuming(world, kind, 4).await;
            client.ack(1, AckType::Cumulative, &[messages[3].id()]).await.unwrap();
            client.settle(1).await;
            assert_eq!(client.stats(1).await.msg_backlog, Some(4), "{kind:?}");
        });
    }
}

#[test]
fn an_answer_comes_only_where_it_is_asked_for() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 2).await;
        client.ack(1, AckType::Individual, &[messages[0].id()]).await.unwrap();
        client.nothing_for(1).await;
        let request_id = client.ack_with_request(1, AckType::Individual, &[messages[1].id()]).await.unwrap();
        let answer = client.await_kind(Type::AckResponse).await.unwrap().command.ack_response.unwrap();
        assert_eq!((answer.consumer_id, answer.request_id), (1, Some(request_id)));
        assert_eq!((answer.error, answer.message), (None, None));
        assert_eq!(client.stats(1).await.msg_backlog, Some(0));
    });
}

/// The answer means that the acknowledgement survives.
#[test]
fn what_was_answered_survives_a_crash() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let world = World::start(1, &[], std::sync::Arc::new(plerion_broker::AllowAll)).await;
        let (mut client, messages) = consuming(&world, SubType::Shared, 5).await;
        client.acknowledge(1, &[messages[0].id(), messages[3].id()]).await;
        let world = world.crash_and_restart().await;
        let mut client = world.session().await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        client.flow(1, 10).await.unwrap();
        assert_eq!(client.texts(3).await, ["1", "2", "4"]);
        world.stop().await;
    });
}

#[test]
fn acks_of_what_is_done_or_unknown_succeed() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 3).await;
        for _ in 0..3 {
            client.acknowledge(1, &[messages[0].id()]).await;
        }
        let unknown = |ledger, entry| MessageIdData::from(Position { ledger, entry });
        let ledger = messages[0].position().ledger;
        for id in [
            unknown(0, 0),
            unknown(ledger, 999),
            unknown(ledger + 999, 0),
            unknown(u64::MAX, u64::MAX),
            unknown(1 << 63, 1),
        ] {
            client.acknowledge(1, &[id]).await;
        }
        assert_eq!(client.stats(1).await.msg_backlog, Some(2));
        // What comes later is not acknowledged in advance.
        client.say(1, 3, "3").await;
        assert_eq!(client.stats(1).await.msg_backlog, Some(3));
        assert_eq!(left(&mut client, SubType::Shared).await, ["1", "2", "3"]);
    });
}

#[test]
fn a_cumulative_ack_beyond_the_end_loses_nothing_to_come() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Exclusive, 2).await;
        let beyond = Position { entry: 1_000, ..messages[0].position() };
        client.ack(1, AckType::Cumulative, &[beyond.into()]).await.unwrap();
        client.settle(1).await;
        client.say(1, 2, "2").await;
        client.flow(1, 1).await.unwrap();
        assert_eq!(client.texts(1).await, ["2"]);
        assert!(client.stats(1).await.msg_backlog.unwrap() >= 1);
    });
}

/// apache/pulsar#759: the count belongs to whoever had the message.
#[test]
fn g09_an_ack_counts_for_whoever_had_the_message() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 3).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 2)).await;
        let ids: Vec<_> = messages.iter().map(Delivered::id).collect();
        client.acknowledge(2, &ids[..2]).await;
        assert_eq!(client.stats(1).await.unacked_messages, Some(1));
        assert_eq!(client.stats(2).await.unacked_messages, Some(0));
    });
}

#[test]
fn an_ack_of_an_unknown_consumer_is_ignored() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 1).await;
        client.ack_with_request(77, AckType::Individual, &[messages[0].id()]).await.unwrap();
        client.nothing_for(1).await;
        assert_eq!(client.stats(1).await.msg_backlog, Some(1));
    });
}

/// The client could not read it: nobody gets it again.
#[test]
fn a_validation_error_counts_as_an_ack() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 2).await;
        let ack = CommandAck {
            consumer_id: 1,
            ack_type: AckType::Individual.into(),
            message_id: vec![messages[0].id()],
            validation_error: Some(command_ack::ValidationError::DecompressionError.into()),
            ..Default::default()
        };
        client.try_ack(ack).await.unwrap();
        assert_eq!(left(&mut client, SubType::Shared).await, ["1"]);
    });
}

const BATCH_INDEX: &[(&str, &str)] = &[("acknowledgmentAtBatchIndexLevelEnabled", "true")];

fn partly(position: Position, left: i64) -> MessageIdData {
    MessageIdData { ack_set: vec![left], batch_size: Some(5), ..position.into() }
}

async fn batch(world: &World) -> (Session, Position) {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    let position = client.say_batch(1, 0, &["a", "b", "c", "d", "e"]).await;
    client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
    assert!(client.take(1, 1).await[0].command.ack_set.is_empty());
    (client, position)
}

/// apache/pulsar#14982: only what is not acknowledged of a batch comes again, after an unload too.
#[test]
fn h09_parts_of_batches_are_acknowledged_for_good() {
    everywhere_with(BATCH_INDEX, async |world| {
        let (mut client, position) = batch(world).await;
        client.acknowledge(1, &[partly(position, 0b11101)]).await;
        client.acknowledge(1, &[partly(position, 0b10111)]).await;
        world.unload(TOPIC).await;
        client.await_kind(Type::CloseConsumer).await.unwrap();
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        assert_eq!(client.take(1, 1).await[0].command.ack_set, [0b10101]);
        client.acknowledge(1, &[partly(position, 0b01010)]).await;
        assert_eq!(client.stats(1).await.msg_backlog, Some(0), "every index is acknowledged");
    });
}

#[test]
fn parts_of_batches_are_not_acknowledged_where_that_is_off() {
    everywhere(async |world| {
        let (mut client, position) = batch(world).await;
        client.acknowledge(1, &[partly(position, 0b11101)]).await;
        assert_eq!(client.stats(1).await.msg_backlog, Some(1));
        client.close_consumer(1).await.unwrap();
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        assert!(client.take(1, 1).await[0].command.ack_set.is_empty());
        client.acknowledge(1, &[position.into()]).await;
        assert_eq!(client.stats(1).await.msg_backlog, Some(0));
    });
}

#[test]
fn a_cumulative_ack_may_end_within_a_batch() {
    everywhere_with(BATCH_INDEX, async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "before").await;
        let position = client.say_batch(1, 1, &["a", "b", "c", "d", "e"]).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        client.take(1, 2).await;
        client.ack_and_wait(1, AckType::Cumulative, &[partly(position, 0b11100)]).await.unwrap();
        client.close_consumer(1).await.unwrap();
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        let again = &client.take(1, 1).await[0];
        assert_eq!((again.position(), &*again.command.ack_set), (position, &[0b11100][..]));
    });
}

fn again(consumer_id: u64, message_ids: Vec<MessageIdData>) -> CommandRedeliverUnacknowledgedMessages {
    CommandRedeliverUnacknowledgedMessages { consumer_id, message_ids, consumer_epoch: None }
}

#[test]
fn what_is_asked_for_again_is_counted() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 3).await;
        client.flow(1, 100).await.unwrap();
        for count in 1..=3 {
            client.send(again(1, vec![messages[1].id()])).await.unwrap();
            let message = client.message().await;
            assert_eq!((message.text(), message.command.redelivery_count()), ("1", count));
        }
        // All it has: each counts for itself.
        client.send(again(1, vec![])).await.unwrap();
        for (text, count) in [("0", 1), ("1", 4), ("2", 1)] {
            let message = client.message().await;
            assert_eq!((message.text(), message.command.redelivery_count()), (text, count));
        }
        // A disconnection alone does not count.
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 2)).await;
        client.flow(2, 100).await.unwrap();
        client.close_consumer(1).await.unwrap();
        for (text, count) in [("0", 1), ("1", 4), ("2", 1)] {
            let message = client.message().await;
            assert_eq!((message.text(), message.command.redelivery_count()), (text, count));
        }
        // With the last consumer the counts go.
        client.close_consumer(2).await.unwrap();
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        for message in client.take(1, 3).await {
            assert_eq!(message.command.redelivery_count(), 0);
        }
    });
}

#[test]
fn redelivery_costs_permits_and_gives_back_unacknowledged_ones() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 3).await;
        client.send(again(1, vec![messages[0].id(), messages[2].id()])).await.unwrap();
        client.nothing_for(1).await;
        assert_eq!(client.stats(1).await.unacked_messages, Some(1));
        client.flow(1, 1).await.unwrap();
        assert_eq!(client.texts(1).await, ["0"]);
        client.flow(1, 1).await.unwrap();
        assert_eq!(client.texts(1).await, ["2"]);
    });
}

#[test]
fn only_what_a_consumer_has_is_delivered_again() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 2).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 2)).await;
        for id in [1, 2] {
            client.flow(id, 100).await.unwrap();
        }
        client.acknowledge(1, &[messages[0].id()]).await;
        client.send(again(2, vec![messages[0].id(), messages[1].id()])).await.unwrap();
        client.send(again(1, vec![messages[0].id(), Position { ledger: 1 << 63, entry: 9 }.into()])).await.unwrap();
        client.send(again(99, vec![messages[1].id()])).await.unwrap();
        client.nothing_for(1).await;
        client.nothing_for(2).await;
    });
}

#[test]
fn a_single_consumer_starts_over_from_what_is_not_acknowledged() {
    for kind in [SubType::Exclusive, SubType::Failover] {
        everywhere(async |world| {
            let (mut client, messages) = consuming(world, kind, 5).await;
            client.acknowledge(1, &[messages[0].id(), messages[2].id()]).await;
            client.flow(1, 100).await.unwrap();
            client.send(again(1, vec![])).await.unwrap();
            for text in ["1", "3", "4"] {
                let message = client.message().await;
                assert_eq!((message.text(), message.command.redelivery_count()), (text, 0));
            }
            // Ids or not makes no difference.
            client.send(again(1, vec![messages[4].id()])).await.unwrap();
            assert_eq!(client.texts(3).await, ["1", "3", "4"]);
        });
    }
}

/// The client tells by the epoch what it has asked for and what was on its way before.
#[test]
fn messages_carry_the_latest_epoch() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "0").await;
        let open = CommandSubscribe { consumer_epoch: Some(1), ..subscription(TOPIC, "s", SubType::Exclusive, 1) };
        client.open_consumer(open).await;
        assert_eq!(client.take(1, 1).await[0].command.consumer_epoch, Some(1));
        client.flow(1, 100).await.unwrap();
        for (epoch, current) in [(2, 2), (5, 5)] {
            let again = CommandRedeliverUnacknowledgedMessages { consumer_epoch: Some(epoch), ..again(1, vec![]) };
            client.send(again).await.unwrap();
            assert_eq!(client.message().await.command.consumer_epoch, Some(current));
        }
    });
}

#[test]
fn acks_in_transactions_are_refused() {
    everywhere(async |world| {
        let (mut client, messages) = consuming(world, SubType::Shared, 1).await;
        let ack = CommandAck {
            consumer_id: 1,
            ack_type: AckType::Individual.into(),
            message_id: vec![messages[0].id()],
            txnid_least_bits: Some(1),
            txnid_most_bits: Some(2),
            ..Default::default()
        };
        let (code, _) = refusal(client.try_ack(ack).await);
        assert_eq!(code, ServerError::NotAllowedError);
        assert_eq!(client.stats(1).await.msg_backlog, Some(1));
    });
}
