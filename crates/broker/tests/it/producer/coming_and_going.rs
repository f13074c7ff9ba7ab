//! Producers that are closed, by either side, at any time.

use std::time::Duration;

use plerion_test_client::{Error, Outgoing, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::{CommandCloseProducer, CommandProducer, command_subscribe::SubType};

use super::{TOPIC, mute, named};
use crate::support::{Session, World, everywhere, everywhere_with, producer, subscription};

/// Long enough for an attempt that waits for the holder of its name to be met by the next one.
const PATIENT: &[(&str, &str)] = &[("connectionLivenessCheckTimeoutMillis", "20000")];

/// A client that holds a name, and has not yet answered whether it is alive.
async fn holder(world: &World) -> Session {
    let mut client = mute(world).await;
    client.open_producer(named(1, "mine")).await;
    client
}

#[test]
fn a_request_repeated_too_early_is_told_to_come_again() {
    everywhere_with(PATIENT, async |world| {
        let mut holder = holder(world).await;
        let mut client = world.session().await;
        let first = client.next_request();
        client.send(CommandProducer { request_id: first, ..named(1, "mine") }).await.unwrap();
        holder.await_kind(Type::Ping).await.unwrap();
        let (code, _) = client.refused_producer(named(1, "mine")).await;
        assert_eq!(code, ServerError::ServiceNotReady);
        drop(holder);
        let success = client.await_kind(Type::ProducerSuccess).await.unwrap().command.producer_success.unwrap();
        assert_eq!(success.request_id, first);
    });
}

/// apache/pulsar#6872, apache/pulsar#9792, apache/pulsar#4138, apache/pulsar#13428: one connection serves a topic that
/// is unloaded again and again, and one that stays.
#[test]
fn e04_ids_are_free_again_after_every_unload() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(&format!("{TOPIC}-stays"), 1)).await;
        client.open_producer(producer(TOPIC, 7)).await;
        for round in 0..5 {
            // A request meets the topic while it is being closed.
            let unload = world.unload(TOPIC);
            let id = client.next_request();
            let (sent, ()) =
                tokio::join!(client.send(CommandProducer { request_id: id, ..producer(TOPIC, 8) }), unload);
            sent.unwrap();
            client.await_kind(Type::CloseProducer).await.unwrap();
            // Whatever became of it, the ids can be used again.
            client.close_producer(8).await.unwrap();
            client.open_producer(producer(TOPIC, 8)).await;
            client.close_producer(8).await.unwrap();
            client.open_producer(producer(TOPIC, 7)).await;
            client.arrived().await;
            client.say(7, round, "through").await;
            client.say(1, round, "undisturbed").await;
        }
        world.until_attached(TOPIC, 1, 0).await;
    });
}

/// apache/pulsar#5988: the client closes a producer before it is open.
#[test]
fn e05_closing_cancels_what_is_being_opened() {
    everywhere_with(PATIENT, async |world| {
        let mut holder = holder(world).await;
        let mut client = world.session().await;
        let pending = client.next_request();
        client.send(CommandProducer { request_id: pending, ..named(1, "mine") }).await.unwrap();
        holder.await_kind(Type::Ping).await.unwrap();
        client.close_producer(1).await.unwrap();
        // Another one under the same id, which gets its own answer.
        assert_eq!(client.open_producer(named(1, "another")).await.producer_name, "another");
        // Now the first attempt could succeed, but nobody wants it any more.
        drop(holder);
        world.until_attached(TOPIC, 1, 0).await;
        client.say(1, 0, "through").await;
        world.until_attached(TOPIC, 1, 0).await;
        assert!(client.arrived().await.is_empty());
        client.open_producer(named(2, "mine")).await;
    });
}

/// A connection that ends while it opens something leaves nothing attached.
#[test]
fn e04_a_connection_that_ends_takes_what_it_was_opening_with_it() {
    everywhere_with(PATIENT, async |world| {
        let mut holder = holder(world).await;
        let mut client = world.session().await;
        client.send(CommandProducer { request_id: 1, ..named(1, "mine") }).await.unwrap();
        holder.await_kind(Type::Ping).await.unwrap();
        drop(client);
        world.until("the connection is gone", async |world| world.open_connections() == 1).await;
        drop(holder);
        world.until_attached(TOPIC, 0, 0).await;
        world.session().await.open_producer(named(1, "mine")).await;
    });
}

#[test]
fn closing_answers_everything_before_its_own_answer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        world.ledgers.hold();
        for sequence_id in 0..20 {
            let message = Outgoing::new("it", sequence_id, "x");
            client.publish(1, sequence_id, &message.payload()).await.unwrap();
        }
        let request_id = client.next_request();
        client.send(CommandCloseProducer { producer_id: 1, request_id, ..Default::default() }).await.unwrap();
        let early = client.receive_within(Duration::from_millis(50)).await;
        assert!(matches!(early, Err(Error::Silence(_))), "{early:?}");
        world.ledgers.release();
        for sequence_id in 0..20 {
            let frame = client.receive().await.unwrap();
            assert_eq!(frame.command.send_receipt.unwrap().sequence_id, sequence_id);
        }
        assert_eq!(client.receive().await.unwrap().command.success.unwrap().request_id, request_id);
        world.until_attached(TOPIC, 0, 0).await;
    });
}

#[test]
fn closing_what_is_not_open_succeeds() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.close_producer(42).await.unwrap();
        client.open_producer(producer(TOPIC, 1)).await;
        client.close_producer(1).await.unwrap();
        client.close_producer(1).await.unwrap();
        client.open_producer(producer(TOPIC, 1)).await;
    });
}

/// apache/pulsar-client-go#606: the client learns that its producer is gone.
#[test]
fn l05_an_unloaded_topic_says_so_to_everyone() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_producer(producer(TOPIC, 2)).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        world.unload(TOPIC).await;
        let mut closed = Vec::new();
        for _ in 0..3 {
            let command = client.receive().await.unwrap().command;
            let producer = command.close_producer.map(|close| ('p', close.producer_id, close.request_id));
            let consumer = command.close_consumer.map(|close| ('c', close.consumer_id, close.request_id));
            closed.push(producer.or(consumer).expect("a close"));
        }
        closed.sort_unstable();
        assert_eq!(closed, [('c', 1, u64::MAX), ('p', 1, u64::MAX), ('p', 2, u64::MAX)]);
    });
}

/// apache/pulsar-client-go#81: whoever comes back at once is served, not refused.
#[test]
fn l01_a_client_that_returns_at_once_waits_instead_of_failing() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        for _ in 0..10 {
            let ((), ()) = tokio::join!(world.unload(TOPIC), async {
                client.await_kind(Type::CloseProducer).await.unwrap();
                client.open_producer(producer(TOPIC, 1)).await;
            });
            client.say(1, 0, "through").await;
        }
    });
}
