//! How silent clients are found.

use std::time::Duration;

use plerion_test_client::{Error, Type};
use plerion_wire::proto::{CommandConnect, CommandPong, command_subscribe::SubType};

use crate::support::{Session, everywhere_with, on_one_shard, producer, subscription};

const TOPIC: &str = "persistent://public/default/keep-alive";
const SHORT: &[(&str, &str)] = &[("keepAliveIntervalSeconds", "1")];

#[test]
fn a_client_that_answers_stays() {
    on_one_shard(SHORT, async |world| {
        let mut client = world.session().await;
        client.answers_pings = false;
        for _ in 0..3 {
            client.await_kind(Type::Ping).await.unwrap();
            client.send(CommandPong {}).await.unwrap();
        }
        client.open_producer(producer(TOPIC, 1)).await;
        assert_eq!(world.count(|shard| &shard.silent), 0);
    });
}

/// apache/pulsar-dotpulsar#166: the network is gone without a word.
#[test]
fn l10_a_client_that_stays_silent_is_closed_with_all_it_had() {
    everywhere_with(SHORT, async |world| {
        let mut client = world.session().await;
        client.answers_pings = false;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        client.await_kind(Type::Ping).await.unwrap();
        client.await_close().await.unwrap();
        assert_eq!(world.count(|shard| &shard.silent), 1);
        world.until_attached(TOPIC, 0, 0).await;
    });
}

/// A client that sends is not asked whether it lives.
#[test]
fn whatever_arrives_counts_as_life() {
    on_one_shard(SHORT, async |world| {
        let mut client = world.session().await;
        client.answers_pings = false;
        client.open_producer(producer(TOPIC, 1)).await;
        for sequence_id in 0..6 {
            client.say(1, sequence_id, "alive").await;
            let idle = client.receive_within(Duration::from_millis(400)).await;
            assert!(matches!(idle, Err(Error::Silence(_))), "{idle:?}");
        }
    });
}

/// Clients of protocol version 0 know no PING.
#[test]
fn the_oldest_clients_are_left_alone() {
    on_one_shard(SHORT, async |world| {
        let mut client = world.silent().await;
        client.answers_pings = false;
        let hello = CommandConnect { client_version: "old".into(), protocol_version: Some(0), ..Default::default() };
        client.shake_hands(hello).await.unwrap();
        let silence = client.receive_within(Duration::from_millis(2_500)).await;
        assert!(matches!(silence, Err(Error::Silence(_))), "{silence:?}");
    });
}

/// Connections are cheap to open, and must be cheap to hold: whoever never says CONNECT is closed.
#[test]
fn connections_that_say_nothing_are_closed_and_leave_nothing_behind() {
    everywhere_with(SHORT, async |world| {
        let mut idle = Vec::new();
        for number in 0..300 {
            let mut client = Session::connect(world.port()).await;
            if number % 2 == 0 {
                // The beginning of a frame.
                client.send_bytes(&[0, 0]).await.unwrap();
            }
            idle.push(client);
        }
        for client in &mut idle {
            client.await_close().await.unwrap();
        }
        world.until("nobody is left", async |world| world.open_connections() == 0).await;
        assert_eq!(world.count(|shard| &shard.opened), world.count(|shard| &shard.closed));
        world.session().await.open_producer(producer(TOPIC, 1)).await;
    });
}
