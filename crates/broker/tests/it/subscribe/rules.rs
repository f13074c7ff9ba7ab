//! Consumers that stand in each other's way.

use plerion_test_client::Type;
use plerion_wire::ServerError;
use plerion_wire::proto::{CommandPong, CommandSubscribe, command_subscribe::SubType};

use super::{TOPIC, exclusive, published};
use crate::support::{everywhere, everywhere_with, subscription, while_alive};

#[test]
fn exclusive_means_one() {
    everywhere(async |world| {
        let mut holder = published(world).await;
        holder.open_consumer(exclusive(1)).await;
        let mut other = world.session().await;
        let (code, text) = while_alive(&mut holder, other.refused_consumer(exclusive(1))).await;
        assert_eq!((code, &*text), (ServerError::ConsumerBusy, "Exclusive consumer is already connected"));
        // On the same connection too, and neither connection is closed.
        assert_eq!(holder.refused_consumer(exclusive(2)).await.0, ServerError::ConsumerBusy);
        other.open_consumer(subscription(TOPIC, "another", SubType::Exclusive, 1)).await;
        assert_eq!(holder.take(1, 1).await[0].text(), "a");
        holder.close_consumer(1).await.unwrap();
        other.open_consumer(exclusive(2)).await;
    });
}

/// A half-open connection must not hold a subscription until its keep-alive ends.
#[test]
fn a_dead_exclusive_consumer_makes_way() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "200")], async |world| {
        let mut dead = published(world).await;
        dead.answers_pings = false;
        dead.open_consumer(exclusive(1)).await;
        assert_eq!(dead.take(1, 2).await.len(), 2);
        let mut new = world.session().await;
        new.open_consumer(exclusive(1)).await;
        new.flow(1, 10).await.unwrap();
        assert_eq!(new.texts(3).await, ["a", "b", "c"], "what the dead one had comes again");
        dead.await_close().await.unwrap();
        world.until_attached(TOPIC, 0, 1).await;
    });
}

#[test]
fn two_newcomers_do_not_both_replace_a_dead_consumer() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "200")], async |world| {
        let mut dead = world.session().await;
        dead.open_consumer(exclusive(1)).await;
        let (mut first, mut second) = (world.session().await, world.session().await);
        let subscribe = |request_id| CommandSubscribe { request_id, ..exclusive(1) };
        // Neither reads while it is asked whether it lives, except for its answer.
        let (one, two) = tokio::join!(first.try_ask(subscribe), second.try_ask(subscribe));
        assert!(one.is_ok() || two.is_ok());
        world.until_attached(TOPIC, 0, 1).await;
    });
}

#[test]
fn types_do_not_mix() {
    everywhere(async |world| {
        let kinds = [SubType::Exclusive, SubType::Shared, SubType::Failover, SubType::KeyShared];
        let mut client = world.session().await;
        for present in kinds {
            client.open_consumer(subscription(TOPIC, "s", present, 1)).await;
            for newcomer in kinds.into_iter().filter(|kind| *kind != present) {
                let (code, text) = client.refused_consumer(subscription(TOPIC, "s", newcomer, 2)).await;
                assert_eq!(code, ServerError::ConsumerBusy, "{present:?}, {newcomer:?}: {text}");
                assert!(text.starts_with("Subscription is of different type"), "{text}");
            }
            // With nobody left, the next type is as good as the last.
            client.close_consumer(1).await.unwrap();
        }
    });
}

#[test]
fn durable_and_passing_subscriptions_do_not_mix() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let passing = CommandSubscribe { durable: Some(false), ..exclusive(1) };
        client.open_consumer(exclusive(1)).await;
        client.close_consumer(1).await.unwrap();
        let (code, text) = client.refused_consumer(passing.clone()).await;
        assert_eq!(code, ServerError::NotAllowedError);
        assert!(text.contains("Durable subscription with the same name already exists"), "{text}");
        client.open_consumer(exclusive(1)).await;
        client.unsubscribe(1).await.unwrap();
        let shared =
            |durable, id| CommandSubscribe { durable: Some(durable), ..subscription(TOPIC, "s", SubType::Shared, id) };
        client.arrived().await;
        client.open_consumer(shared(false, 1)).await;
        let (code, text) = client.refused_consumer(shared(true, 2)).await;
        assert_eq!(code, ServerError::NotAllowedError);
        assert!(text.contains("NonDurable subscription with the same name already exists"), "{text}");
        // It ends with its last consumer, and its name is free.
        client.close_consumer(1).await.unwrap();
        client.open_consumer(shared(true, 2)).await;
    });
}

#[test]
fn a_subscription_takes_so_many_consumers() {
    everywhere_with(&[("maxConsumersPerSubscription", "2")], async |world| {
        let mut client = world.session().await;
        for id in [1, 2] {
            client.open_consumer(subscription(TOPIC, "s", SubType::Shared, id)).await;
        }
        let third = subscription(TOPIC, "s", SubType::Shared, 3);
        assert_eq!(client.refused_consumer(third.clone()).await.0, ServerError::ConsumerBusy);
        client.close_consumer(1).await.unwrap();
        client.open_consumer(third).await;
    });
}

#[test]
fn a_topic_takes_so_many_subscriptions_and_consumers() {
    let settings = [("maxSubscriptionsPerTopic", "2"), ("maxConsumersPerTopic", "3")];
    everywhere_with(&settings, async |world| {
        let mut client = world.session().await;
        client.open_consumer(subscription(TOPIC, "1", SubType::Shared, 1)).await;
        client.open_consumer(subscription(TOPIC, "2", SubType::Shared, 2)).await;
        let (code, _) = client.refused_consumer(subscription(TOPIC, "3", SubType::Shared, 3)).await;
        assert_eq!(code, ServerError::NotAllowedError);
        client.open_consumer(subscription(TOPIC, "2", SubType::Shared, 4)).await;
        let (code, _) = client.refused_consumer(subscription(TOPIC, "2", SubType::Shared, 5)).await;
        assert_eq!(code, ServerError::ConsumerBusy);
    });
}

/// The same order of events as for producers (apache/pulsar#5988).
#[test]
fn e05_closing_cancels_what_is_being_opened() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "20000")], async |world| {
        let mut holder = world.session().await;
        holder.answers_pings = false;
        holder.open_consumer(exclusive(1)).await;
        let mut client = world.session().await;
        let request_id = client.next_request();
        client.send(CommandSubscribe { request_id, ..exclusive(1) }).await.unwrap();
        holder.await_kind(Type::Ping).await.unwrap();
        let (code, _) = client.refused_consumer(exclusive(1)).await;
        assert_eq!(code, ServerError::ServiceNotReady, "it is still being opened");
        client.close_consumer(1).await.unwrap();
        client.open_consumer(subscription(TOPIC, "another", SubType::Exclusive, 1)).await;
        drop(holder);
        world.until_attached(TOPIC, 0, 1).await;
        assert!(client.arrived().await.is_empty());
        client.open_consumer(exclusive(2)).await;
    });
}

#[test]
fn e04_a_connection_that_ends_takes_what_it_was_opening_with_it() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "20000")], async |world| {
        let mut holder = world.session().await;
        holder.answers_pings = false;
        holder.open_consumer(exclusive(1)).await;
        let mut client = world.session().await;
        client.send(CommandSubscribe { request_id: 1, ..exclusive(1) }).await.unwrap();
        holder.await_kind(Type::Ping).await.unwrap();
        drop(client);
        world.until("the connection is gone", async |world| world.open_connections() == 1).await;
        holder.send(CommandPong {}).await.unwrap();
        holder.close_consumer(1).await.unwrap();
        world.until_attached(TOPIC, 0, 0).await;
        holder.open_consumer(exclusive(1)).await;
    });
}
