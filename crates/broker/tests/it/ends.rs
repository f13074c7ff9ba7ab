//! UNSUBSCRIBE, CONSUMER_STATS, and connections that end.

use plerion_test_client::{Error, Outgoing, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::{
    BaseCommand, CommandCloseConsumer, CommandCloseProducer, CommandConsumerStats, CommandGetLastMessageId,
    CommandGetSchema, CommandGetTopicsOfNamespace, CommandLookupTopic, CommandPartitionedTopicMetadata, CommandPing,
    CommandProducer, CommandSeek, CommandSubscribe, CommandUnsubscribe, CommandWatchTopicList,
    CommandWatchTopicListClose, command_subscribe::SubType,
};

use crate::support::{World, everywhere, name, on_one_shard, producer, subscription};

const TOPIC: &str = "persistent://public/default/ends";

fn unsubscribe(consumer_id: u64, force: bool) -> impl FnOnce(u64) -> CommandUnsubscribe {
    move |request_id| CommandUnsubscribe { consumer_id, request_id, force: Some(force) }
}

async fn subscriptions(world: &World) -> Vec<String> {
    world.handle().subscriptions(&name(TOPIC)).await.unwrap()
}

#[test]
fn the_last_consumer_may_end_its_subscription() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "a").await;
        for kind in [SubType::Exclusive, SubType::Shared, SubType::Failover, SubType::KeyShared] {
            client.open_consumer(subscription(TOPIC, "s", kind, 1)).await;
            client.unsubscribe(1).await.unwrap();
            assert!(subscriptions(world).await.is_empty());
            client.settle_broker().await;
            client.arrived().await;
        }
        // It is gone for good: a new one under the name begins anew.
        world.unload(TOPIC).await;
        assert!(subscriptions(world).await.is_empty());
        client.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        assert_eq!(client.take(1, 1).await[0].text(), "a");
    });
}

#[test]
fn while_others_use_it_a_subscription_stays() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let mut other = world.session().await;
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        other.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
        let (code, text) = client.refusal(unsubscribe(1, false)).await;
        assert_eq!(code, ServerError::MetadataError);
        assert_eq!(text, "Unconnected or shared consumer attempting to unsubscribe");
        client.ask(unsubscribe(1, true)).await;
        other.await_kind(Type::CloseConsumer).await.unwrap();
        assert!(subscriptions(world).await.is_empty());
    });
}

#[test]
fn nobody_ends_what_nobody_has() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let (code, text) = client.refusal(unsubscribe(1, false)).await;
        assert_eq!((code, &*text), (ServerError::MetadataError, "Consumer not found"));
    });
}

#[test]
fn figures_are_those_of_the_consumer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        for (kind, text) in [
            (SubType::Exclusive, "Exclusive"),
            (SubType::Shared, "Shared"),
            (SubType::Failover, "Failover"),
            (SubType::KeyShared, "Key_Shared"),
        ] {
            client.open_consumer(subscription(TOPIC, text, kind, 1)).await;
            let stats = client.stats(1).await;
            assert_eq!(stats.r#type.as_deref(), Some(text));
            assert_eq!(stats.consumer_name.as_deref(), Some("consumer-1"));
            assert_eq!((stats.error_code, stats.error_message), (None, None));
            assert!(stats.address.unwrap().contains("127.0.0.1:"));
            assert!(stats.connected_since.unwrap().contains('T'));
            client.close_consumer(1).await.unwrap();
        }
        client.open_consumer(subscription(TOPIC, "Shared", SubType::Shared, 1)).await;
        for number in 0..20 {
            client.say(1, number, "x").await;
        }
        assert_eq!(client.stats(1).await.msg_backlog, Some(20));
        let messages = client.take(1, 5).await;
        client.acknowledge(1, &[messages[0].id(), messages[1].id()]).await;
        client.flow(1, 7).await.unwrap();
        client.texts(7).await;
        client.flow(1, 10).await.unwrap();
        client.texts(8).await;
        let stats = client.stats(1).await;
        assert_eq!(stats.msg_backlog, Some(18));
        assert_eq!((stats.unacked_messages, stats.available_permits), (Some(18), Some(2)));
        assert_eq!(stats.blocked_consumer_on_unacked_msgs, Some(false));
    });
}

#[test]
fn figures_of_nobody_are_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let stats = |request_id| CommandConsumerStats { request_id, consumer_id: 5 };
        assert_eq!(client.refusal(stats).await.0, ServerError::ConsumerNotFound);
    });
}

/// Whatever was on a connection is gone with it, and at once.
#[test]
fn a_connection_that_ends_frees_everything() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for id in 0..10 {
            client.open_producer(producer(&format!("{TOPIC}-{}", id % 3), id)).await;
            client
                .open_consumer(subscription(&format!("{TOPIC}-{}", id % 3), &format!("s-{id}"), SubType::Exclusive, id))
                .await;
        }
        drop(client);
        for topic in 0..3 {
            world.until_attached(&format!("{TOPIC}-{topic}"), 0, 0).await;
        }
        world.until("the connection is gone", async |world| world.open_connections() == 0).await;
        assert_eq!(world.count(|shard| &shard.opened), world.count(|shard| &shard.closed));
        let mut again = world.session().await;
        for id in 0..10 {
            again
                .open_consumer(subscription(&format!("{TOPIC}-{}", id % 3), &format!("s-{id}"), SubType::Exclusive, id))
                .await;
        }
    });
}

/// Messages under way when their connection ends are stored, and hold nobody up.
#[test]
fn sends_under_way_survive_their_connection() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        world.ledgers.hold();
        for number in 0..50 {
            client.publish(1, number, &Outgoing::new("it", number, number.to_string()).payload()).await.unwrap();
        }
        client.send(CommandPing {}).await.unwrap();
        client.await_kind(Type::Pong).await.unwrap();
        drop(client);
        world.until("the connection is gone", async |world| world.open_connections() == 0).await;
        world.ledgers.release();
        let mut again = world.session().await;
        again.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        assert_eq!(again.take(1, 50).await.len(), 50);
    });
}

/// A client that ends in the middle of everything, many times.
#[test]
fn connections_that_end_anywhere_leave_nothing() {
    everywhere(async |world| {
        for round in 0..40 {
            let mut client = world.session().await;
            let subscribe = subscription(TOPIC, "s", SubType::Shared, 1);
            client.send(CommandProducer { request_id: 1, ..producer(TOPIC, 1) }).await.unwrap();
            client.send(CommandSubscribe { request_id: 2, ..subscribe.clone() }).await.unwrap();
            let close = CommandCloseConsumer { request_id: 3, consumer_id: 1, ..Default::default() };
            client.send(close).await.unwrap();
            client.send(CommandSubscribe { request_id: 4, ..subscribe }).await.unwrap();
            // What is closed before it is open gets no answer of its own.
            for _ in 0..round % 4 {
                client.receive().await.unwrap();
            }
            drop(client);
        }
        world.until("nobody is left", async |world| world.open_connections() == 0).await;
        world.until_attached(TOPIC, 0, 0).await;
    });
}

/// streamnative/pulsar-rs#164 and others: a request without an answer is a client that hangs. Here every kind of request
/// names something that is not there.
#[test]
fn l09_every_request_is_answered() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let requests: [fn(u64) -> BaseCommand; 14] = [
            |request_id| CommandProducer { request_id, ..producer("a/b", 1) }.into(),
            |request_id| CommandSubscribe { request_id, ..subscription("a/b", "s", SubType::Shared, 1) }.into(),
            |request_id| CommandCloseProducer { request_id, producer_id: 9, ..Default::default() }.into(),
            |request_id| CommandCloseConsumer { request_id, consumer_id: 9, ..Default::default() }.into(),
            |request_id| CommandUnsubscribe { request_id, consumer_id: 9, ..Default::default() }.into(),
            |request_id| CommandSeek { request_id, consumer_id: 9, ..Default::default() }.into(),
            |request_id| CommandGetLastMessageId { request_id, consumer_id: 9 }.into(),
            |request_id| CommandConsumerStats { request_id, consumer_id: 9 }.into(),
            |request_id| CommandLookupTopic { request_id, ..Default::default() }.into(),
            |request_id| CommandPartitionedTopicMetadata { request_id, ..Default::default() }.into(),
            |request_id| CommandGetTopicsOfNamespace { request_id, ..Default::default() }.into(),
            |request_id| CommandWatchTopicList { request_id, ..Default::default() }.into(),
            |request_id| CommandWatchTopicListClose { request_id, watcher_id: 9 }.into(),
            |request_id| CommandGetSchema { request_id, ..Default::default() }.into(),
        ];
        for request in requests {
            match client.try_ask(request).await {
                Ok(_) | Err(Error::Refused { .. }) => {}
                Err(error) => panic!("{error}: {:?}", request(0)),
            }
        }
    });
}

#[test]
fn only_so_many_connections_are_accepted() {
    on_one_shard(&[("brokerMaxConnections", "2")], async |world| {
        let first = world.session().await;
        let mut second = world.session().await;
        let mut third = world.silent().await;
        third.await_close().await.unwrap();
        assert_eq!(world.count(|shard| &shard.refused), 1);
        drop(first);
        world.until("one is gone", async |world| world.open_connections() == 1).await;
        second.open_producer(producer(TOPIC, 1)).await;
        world.session().await;
    });
}
