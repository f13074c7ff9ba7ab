//! SUBSCRIBE.

use plerion_test_client::{LATEST, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::command_ack::AckType;
use plerion_wire::proto::command_subscribe::{InitialPosition, SubType};
use plerion_wire::proto::{CommandCloseConsumer, CommandSubscribe, KeyValue, MessageIdData, Schema, schema};

use crate::support::{Session, World, everywhere, everywhere_with, name, on_one_shard, producer, subscription};

mod rules;

const TOPIC: &str = "persistent://public/default/subscriptions";

fn exclusive(consumer_id: u64) -> CommandSubscribe {
    subscription(TOPIC, "s", SubType::Exclusive, consumer_id)
}

/// A session with a producer, which has published three messages.
async fn published(world: &World) -> Session {
    let mut client = world.session().await;
    client.open_producer(producer(TOPIC, 1)).await;
    for (sequence_id, text) in (0..).zip(["a", "b", "c"]) {
        client.say(1, sequence_id, text).await;
    }
    client
}

#[test]
fn nothing_comes_before_permits() {
    everywhere(async |world| {
        let mut client = published(world).await;
        client.open_consumer(exclusive(1)).await;
        client.nothing_for(1).await;
        client.flow(1, 2).await.unwrap();
        assert_eq!(client.texts(2).await, ["a", "b"]);
        client.nothing_for(1).await;
        client.flow(1, 5).await.unwrap();
        assert_eq!(client.texts(1).await, ["c"]);
    });
}

#[test]
fn a_new_subscription_begins_where_it_is_told() {
    everywhere(async |world| {
        let mut client = published(world).await;
        let at = |id, name: &str, position: InitialPosition| CommandSubscribe {
            initial_position: Some(position.into()),
            ..subscription(TOPIC, name, SubType::Exclusive, id)
        };
        client.open_consumer(at(1, "earliest", InitialPosition::Earliest)).await;
        client.open_consumer(at(2, "latest", InitialPosition::Latest)).await;
        let default = CommandSubscribe { initial_position: None, ..at(3, "default", InitialPosition::Latest) };
        client.open_consumer(default).await;
        assert_eq!(client.take(1, 1).await[0].text(), "a");
        for id in [2, 3] {
            client.flow(id, 1).await.unwrap();
            client.nothing_for(id).await;
        }
        client.say(1, 3, "d").await;
        assert_eq!(client.texts(2).await, ["d", "d"]);
    });
}

#[test]
fn an_existing_subscription_goes_on_where_it_was() {
    everywhere(async |world| {
        let mut client = published(world).await;
        client.open_consumer(exclusive(1)).await;
        let messages = client.take(1, 3).await;
        client.acknowledge(1, &[messages[0].id(), messages[2].id()]).await;
        client.close_consumer(1).await.unwrap();
        let latest = Some(InitialPosition::Latest.into());
        client.open_consumer(CommandSubscribe { initial_position: latest, ..exclusive(1) }).await;
        client.flow(1, 10).await.unwrap();
        assert_eq!(client.texts(1).await, ["b"]);
        client.nothing_for(1).await;
    });
}

/// apache/pulsar-client-cpp#235: the consumer reconnects twice.
#[test]
fn l07_a_repeated_request_succeeds_again() {
    everywhere(async |world| {
        let mut client = published(world).await;
        for _ in 0..3 {
            client.open_consumer(exclusive(1)).await;
        }
        world.until_attached(TOPIC, 1, 1).await;
        client.flow(1, 3).await.unwrap();
        assert_eq!(client.texts(3).await, ["a", "b", "c"]);
        // Also after an unload.
        world.unload(TOPIC).await;
        client.await_kind(Type::CloseConsumer).await.unwrap();
        client.open_consumer(exclusive(1)).await;
        client.open_consumer(exclusive(1)).await;
        world.until_attached(TOPIC, 0, 1).await;
    });
}

#[test]
fn a_failed_attempt_frees_its_id() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let missing = CommandSubscribe { topic: "persistent://public/missing/t".into(), ..exclusive(1) };
        assert_eq!(client.refused_consumer(missing).await.0, ServerError::TopicNotFound);
        let invalid = CommandSubscribe { topic: "a/b".into(), ..exclusive(1) };
        assert_eq!(client.refused_consumer(invalid).await.0, ServerError::InvalidTopicName);
        client.open_consumer(exclusive(1)).await;
    });
}

#[test]
fn reserved_names_are_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for name in ["pulsar.dedup", "__compaction", "pulsar.repl.other"] {
            let (code, text) = client.refused_consumer(subscription(TOPIC, name, SubType::Shared, 1)).await;
            assert_eq!(code, ServerError::ProducerBusy, "{name}: {text}");
        }
    });
}

#[test]
fn a_topic_may_have_to_be_there() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let careful = CommandSubscribe { force_topic_creation: Some(false), ..exclusive(1) };
        assert_eq!(client.refused_consumer(careful.clone()).await.0, ServerError::TopicNotFound);
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_consumer(careful).await;
    });
}

#[test]
fn a_topic_is_not_made_where_none_come_into_being() {
    everywhere_with(&[("allowAutoTopicCreation", "false")], async |world| {
        let mut client = world.session().await;
        assert_eq!(client.refused_consumer(exclusive(1)).await.0, ServerError::TopicNotFound);
    });
}

#[test]
fn a_subscription_may_have_to_be_there() {
    everywhere_with(&[("allowAutoSubscriptionCreation", "false")], async |world| {
        let mut client = published(world).await;
        assert_eq!(client.refused_consumer(exclusive(1)).await.0, ServerError::SubscriptionNotFound);
        // What leaves nothing behind may still be made.
        client.open_consumer(CommandSubscribe { durable: Some(false), ..exclusive(1) }).await;
        client.close_consumer(1).await.unwrap();
        let start = plerion_topic::Start::Earliest;
        world.handle().create_subscription(&name(TOPIC), "s", start, Default::default()).await.unwrap();
        client.open_consumer(exclusive(1)).await;
    });
}

/// The first thing that is wrong decides the answer.
#[test]
fn checks_are_made_in_order() {
    everywhere_with(&[("subscriptionTypesEnabled", "Exclusive,Failover")], async |world| {
        let schema = |kind: schema::Type| Schema { name: "s".into(), r#type: kind.into(), ..Default::default() };
        let mut client = world.session().await;
        let open = CommandSubscribe { schema: Some(schema(schema::Type::String)), ..exclusive(1) };
        client.open_consumer(open.clone()).await;
        let wrong_schema = CommandSubscribe {
            consumer_id: 2,
            schema: Some(schema(schema::Type::Int8)),
            sub_type: SubType::Shared.into(),
            read_compacted: Some(true),
            ..open.clone()
        };
        assert_eq!(client.refused_consumer(wrong_schema.clone()).await.0, ServerError::IncompatibleSchema);
        let compacted = CommandSubscribe { schema: open.schema.clone(), ..wrong_schema };
        let (code, text) = client.refused_consumer(compacted.clone()).await;
        assert_eq!(code, ServerError::NotAllowedError);
        assert!(text.contains("readCompacted only allowed on failover or exclusive subscriptions"), "{text}");
        let disabled = CommandSubscribe { read_compacted: None, ..compacted };
        let (code, text) = client.refused_consumer(disabled.clone()).await;
        assert_eq!(code, ServerError::NotAllowedError);
        assert_eq!(text, format!("Topic[{TOPIC}] doesn't support Shared sub type!"));
        let busy = CommandSubscribe { sub_type: SubType::Failover.into(), ..disabled };
        assert_eq!(client.refused_consumer(busy).await.0, ServerError::ConsumerBusy);
    });
}

#[test]
fn read_compacted_is_for_single_consumers() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for (kind, allowed) in [
            (SubType::Exclusive, true),
            (SubType::Failover, true),
            (SubType::Shared, false),
            (SubType::KeyShared, false),
        ] {
            let name = format!("{kind:?}");
            let compacted = CommandSubscribe { read_compacted: Some(true), ..subscription(TOPIC, &name, kind, 1) };
            if allowed {
                client.open_consumer(compacted).await;
                client.close_consumer(1).await.unwrap();
            } else {
                assert_eq!(client.refused_consumer(compacted).await.0, ServerError::NotAllowedError);
            }
        }
    });
}

/// Start ids are numbers like any other, sentinels and all: never an error (ids are u64 on the wire, i64 in meaning).
#[test]
fn no_start_id_is_out_of_range() {
    everywhere(async |world| {
        let mut client = published(world).await;
        let ends = [0, 1, i64::MAX as u64 - 1, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];
        let mut id = 10;
        for ledger_id in ends {
            for entry_id in ends {
                let start_message_id = Some(MessageIdData { ledger_id, entry_id, ..Default::default() });
                for durable in [true, false] {
                    id += 1;
                    let name = format!("s-{id}");
                    client
                        .open_consumer(CommandSubscribe {
                            durable: Some(durable),
                            start_message_id: start_message_id.clone(),
                            ..subscription(TOPIC, &name, SubType::Exclusive, id)
                        })
                        .await;
                }
            }
        }
        client.say(1, 3, "d").await;
    });
}

#[test]
fn a_durable_subscription_may_start_at_an_id() {
    everywhere(async |world| {
        let mut client = published(world).await;
        let start = |id, name: &str, start: MessageIdData| CommandSubscribe {
            start_message_id: Some(start),
            ..subscription(TOPIC, name, SubType::Exclusive, id)
        };
        client.open_consumer(start(1, "latest", LATEST.into())).await;
        client.flow(1, 10).await.unwrap();
        client.nothing_for(1).await;
        let end = client.say(1, 3, "d").await;
        assert_eq!(client.texts(1).await, ["d"]);
        client.open_consumer(start(2, "last", end.into())).await;
        assert_eq!(client.take(2, 1).await[0].text(), "d");
    });
}

#[test]
fn a_subscription_keeps_its_properties() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let pair = |value: &str| vec![KeyValue { key: "colour".into(), value: value.into() }];
        let open = CommandSubscribe { subscription_properties: pair("red"), metadata: pair("blue"), ..exclusive(1) };
        client.open_consumer(open).await;
        let stats = world.handle().topic_stats(&name(TOPIC)).await.unwrap();
        assert_eq!(stats.subscriptions["s"].consumers[0].metadata["colour"], "blue");
        assert_eq!(stats.subscriptions["s"].subscription_properties["colour"], "red");
        world.unload(TOPIC).await;
        let stats = world.handle().topic_stats(&name(TOPIC)).await.unwrap();
        assert_eq!(stats.subscriptions["s"].subscription_properties["colour"], "red");
    });
}

#[test]
fn closing_gives_what_is_not_acknowledged_to_the_next() {
    everywhere(async |world| {
        let mut client = published(world).await;
        client.open_consumer(exclusive(1)).await;
        assert_eq!(client.take(1, 3).await.len(), 3);
        client.close_consumer(1).await.unwrap();
        client.close_consumer(1).await.unwrap();
        client.close_consumer(42).await.unwrap();
        client.open_consumer(exclusive(2)).await;
        client.flow(2, 10).await.unwrap();
        assert_eq!(client.texts(3).await, ["a", "b", "c"]);
    });
}

/// apache/pulsar-client-go#1180: a consumer that comes back begins with no permits.
#[test]
fn g12_permits_end_with_their_consumer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_consumer(exclusive(1)).await;
        client.flow(1, 1000).await.unwrap();
        client.close_consumer(1).await.unwrap();
        client.open_consumer(exclusive(1)).await;
        client.say(1, 0, "a").await;
        client.nothing_for(1).await;
        client.flow(1, 1).await.unwrap();
        assert_eq!(client.texts(1).await, ["a"]);
    });
}

/// FLOW and ACK may pass the close of their consumer on the way.
#[test]
fn commands_of_consumers_that_are_gone_are_ignored() {
    everywhere(async |world| {
        let mut client = published(world).await;
        client.open_consumer(exclusive(1)).await;
        let request_id = client.next_request();
        client.send(CommandCloseConsumer { consumer_id: 1, request_id, ..Default::default() }).await.unwrap();
        client.flow(1, 100).await.unwrap();
        client.flow(99, 100).await.unwrap();
        client.ack(1, AckType::Cumulative, &[LATEST.into()]).await.unwrap();
        client.await_kind(Type::Success).await.unwrap();
        client.open_consumer(exclusive(1)).await;
        client.nothing_for(1).await;
        assert_eq!(client.take(1, 1).await[0].text(), "a");
    });
}

#[test]
fn a_client_may_have_thousands_of_consumers() {
    on_one_shard(&[], async |world| {
        let mut client = published(world).await;
        for id in 0..2_000 {
            client.open_consumer(subscription(TOPIC, "s", SubType::Shared, id)).await;
        }
        drop(client);
        world.until_attached(TOPIC, 0, 0).await;
    });
}
