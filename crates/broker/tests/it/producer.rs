//! PRODUCER: who may publish under which name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use plerion_broker::AllowAll;
use plerion_test_client::{Error, Type};
use plerion_wire::ServerError;
use plerion_wire::proto::{
    CommandCloseProducer, CommandPong, CommandProducer, CommandSubscribe, KeyValue, Schema, command_subscribe::SubType,
    schema,
};

use crate::support::{
    Session, World, everywhere, everywhere_with, name, on_one_shard, producer, subscription, while_alive,
};

const TOPIC: &str = "persistent://public/default/producers";

/// PRODUCER with a name that the application chose.
fn named(producer_id: u64, name: &str) -> CommandProducer {
    CommandProducer { producer_name: Some(name.into()), ..producer(TOPIC, producer_id) }
}

/// PRODUCER of a client that reconnects under the name the broker gave it.
fn returning(producer_id: u64, name: &str, epoch: u64) -> CommandProducer {
    let user_provided_producer_name = Some(false);
    CommandProducer { user_provided_producer_name, epoch: Some(epoch), ..named(producer_id, name) }
}

#[test]
fn success_says_what_clients_need() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let success = client.open_producer(producer(TOPIC, 1)).await;
        assert!(success.producer_name.starts_with("standalone-"), "{}", success.producer_name);
        assert_eq!(success.last_sequence_id, Some(-1));
        assert!(success.schema_version().is_empty());
        assert_eq!(success.producer_ready, Some(true));
        assert_eq!(success.topic_epoch, None, "only exclusive producers have one");
        let success = client.open_producer(named(2, "chosen")).await;
        assert_eq!(success.producer_name, "chosen");
    });
}

/// Neither deduplication nor a client may ever take one producer for another.
#[test]
fn generated_names_never_repeat() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut world = World::start(3, &[], Arc::new(AllowAll)).await;
        let mut names = HashSet::new();
        for _ in 0..3 {
            for number in 0..5 {
                let mut client = world.session().await;
                for id in 0..3 {
                    let topic = format!("persistent://public/default/names-{number}");
                    let success = client.open_producer(producer(&topic, id)).await;
                    assert!(names.insert(success.producer_name.clone()), "{} twice", success.producer_name);
                }
            }
            world = world.crash_and_restart().await;
        }
        world.stop().await;
    });
}

/// An empty name is none.
#[test]
fn an_empty_name_leaves_the_choice_to_the_broker() {
    on_one_shard(&[], async |world| {
        let mut client = world.session().await;
        assert!(!client.open_producer(named(1, "")).await.producer_name.is_empty());
    });
}

#[test]
fn a_repeated_request_gets_the_same_answer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let first = client.open_producer(producer(TOPIC, 1)).await;
        let second = client.open_producer(producer(TOPIC, 1)).await;
        assert_ne!(first.request_id, second.request_id);
        assert_eq!(first.producer_name, second.producer_name);
        client.say(1, 0, "still open").await;
        world.until_attached(TOPIC, 1, 0).await;
    });
}

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

#[test]
fn a_failed_attempt_frees_its_id() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for _ in 0..3 {
            let missing = producer("persistent://public/missing/t", 1);
            assert_eq!(client.refused_producer(missing).await.0, ServerError::TopicNotFound);
            assert_eq!(client.refused_producer(producer("a/b", 1)).await.0, ServerError::InvalidTopicName);
        }
        client.open_producer(producer(TOPIC, 1)).await;
    });
}

/// The first thing that is wrong decides the answer.
#[test]
fn checks_are_made_in_order() {
    let settings = [("encryptionRequireOnProducer", "true"), ("maxProducersPerTopic", "1")];
    everywhere_with(&settings, async |world| {
        let schema = Schema { name: "s".into(), r#type: schema::Type::String.into(), ..Default::default() };
        let other = Schema { r#type: schema::Type::Int8.into(), ..schema.clone() };
        let mut client = world.session().await;
        let open = CommandProducer { encrypted: Some(true), schema: Some(schema), ..named(1, "first") };
        client.open_producer(open.clone()).await;
        let unencrypted =
            CommandProducer { producer_id: 2, encrypted: None, schema: Some(other.clone()), ..open.clone() };
        let (code, text) = client.refused_producer(unencrypted).await;
        assert_eq!((code, &*text), (ServerError::MetadataError, "Encryption is required in topic"));
        let incompatible = CommandProducer { producer_id: 2, schema: Some(other), ..open.clone() };
        assert_eq!(client.refused_producer(incompatible).await.0, ServerError::IncompatibleSchema);
        let late = CommandProducer { producer_id: 2, ..open.clone() };
        let (code, text) = client.refused_producer(late).await;
        assert_eq!(code, ServerError::ProducerBusy, "{text}");
    });
}

#[test]
fn a_name_is_taken_by_one_producer_of_a_topic() {
    everywhere(async |world| {
        let mut first = world.session().await;
        first.open_producer(named(1, "mine")).await;
        let mut second = world.session().await;
        let (code, text) = while_alive(&mut first, second.refused_producer(named(1, "mine"))).await;
        assert_eq!(code, ServerError::ProducerBusy);
        assert!(text.contains("'mine'"), "{text}");
        // Another topic has names of its own.
        let elsewhere = CommandProducer { topic: format!("{TOPIC}-2"), ..named(2, "mine") };
        second.open_producer(elsewhere).await;
        first.say(1, 0, "not disturbed").await;
        // On the same connection it is busy too.
        assert_eq!(first.refused_producer(named(2, "mine")).await.0, ServerError::ProducerBusy);
    });
}

/// A client that reconnects takes over from itself.
#[test]
fn a_successor_replaces_its_predecessor() {
    everywhere(async |world| {
        let mut old = world.session().await;
        let given = old.open_producer(producer(TOPIC, 1)).await.producer_name;
        let mut new = world.session().await;
        let success = new.open_producer(returning(1, &given, 1)).await;
        assert_eq!(success.producer_name, given);
        let close = old.await_kind(Type::CloseProducer).await.unwrap().command.close_producer.unwrap();
        assert_eq!((close.producer_id, close.request_id), (1, u64::MAX));
        assert_eq!((close.assigned_broker_service_url, close.assigned_broker_service_url_tls), (None, None));
        new.say(1, 0, "mine now").await;
        world.until_attached(TOPIC, 1, 0).await;
        // What belongs to an earlier epoch comes too late.
        let mut late = world.session().await;
        let refusal = while_alive(&mut new, late.refused_producer(returning(1, &given, 0))).await;
        assert_eq!(refusal.0, ServerError::ProducerBusy);
    });
}

/// Waits until the broker pings, and never answers.
async fn mute(world: &World) -> Session {
    let mut client = world.session().await;
    client.answers_pings = false;
    client
}

/// apache/pulsar#21144: the client re-creates its producer on another connection before the first is seen dead.
#[test]
fn e09_a_dead_holder_of_a_name_makes_way() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "200")], async |world| {
        let mut dead = mute(world).await;
        dead.open_producer(named(1, "mine")).await;
        let mut new = world.session().await;
        new.open_producer(named(1, "mine")).await;
        new.say(1, 0, "mine now").await;
        dead.await_close().await.unwrap();
        world.until_attached(TOPIC, 1, 0).await;
    });
}

#[test]
fn e09_a_live_holder_of_a_name_keeps_it() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "20000")], async |world| {
        let mut holder = world.session().await;
        holder.open_producer(named(1, "mine")).await;
        let mut new = world.session().await;
        let (answer, pinged) = tokio::join!(new.refused_producer(named(1, "mine")), async {
            holder.answers_pings = false;
            holder.await_kind(Type::Ping).await.unwrap();
            holder.send(CommandPong {}).await.unwrap();
        });
        let ((code, _), ()) = (answer, pinged);
        assert_eq!(code, ServerError::ProducerBusy);
        holder.say(1, 0, "still mine").await;
    });
}

/// apache/pulsar-client-go#676: two live connections, the same name, a higher epoch on the new one.
#[test]
fn l04_a_higher_epoch_wins_at_once() {
    everywhere_with(&[("connectionLivenessCheckTimeoutMillis", "20000")], async |world| {
        let mut old = mute(world).await;
        old.open_producer(CommandProducer { epoch: Some(1), ..named(1, "mine") }).await;
        let mut new = world.session().await;
        new.patience = Duration::from_secs(5);
        new.open_producer(CommandProducer { epoch: Some(2), ..named(1, "mine") }).await;
        old.await_kind(Type::CloseProducer).await.unwrap();
    });
}

/// apache/pulsar#7140, apache/pulsar#1600: nothing of a producer survives the broker it was attached to.
#[test]
fn e10_no_producer_survives_a_crash_of_the_broker() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let world = World::start(3, &[], Arc::new(AllowAll)).await;
        let mut client = world.session().await;
        client.open_producer(named(1, "mine")).await;
        let given = client.open_producer(producer(TOPIC, 2)).await.producer_name;
        client.say(1, 0, "kept").await;
        let world = world.crash_and_restart().await;
        let mut again = world.session().await;
        again.open_producer(named(1, "mine")).await;
        again.open_producer(returning(2, &given, 1)).await;
        world.until_attached(TOPIC, 2, 0).await;
        again.open_consumer(subscription(TOPIC, "s", SubType::Exclusive, 1)).await;
        assert_eq!(again.take(1, 1).await[0].text(), "kept");
        world.stop().await;
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
            let message = plerion_test_client::Outgoing::new("it", sequence_id, "x");
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

#[test]
fn a_topic_may_have_to_be_there() {
    everywhere_with(&[("allowAutoTopicCreation", "false")], async |world| {
        let mut client = world.session().await;
        assert_eq!(client.refused_producer(producer(TOPIC, 1)).await.0, ServerError::TopicNotFound);
        world.handle().create_topic(&name(TOPIC), Default::default()).await.unwrap();
        client.open_producer(producer(TOPIC, 1)).await;
    });
}

#[test]
fn partitions_are_opened_as_far_as_they_go() {
    everywhere(async |world| {
        world.partition(TOPIC, 2).await;
        let mut client = world.session().await;
        client.open_producer(producer(&format!("{TOPIC}-partition-1"), 1)).await;
        let beyond = producer(&format!("{TOPIC}-partition-2"), 2);
        assert_eq!(client.refused_producer(beyond.clone()).await.0, ServerError::TopicNotFound);
        // The name of the whole is none to publish to.
        let (code, _) = client.refused_producer(producer(TOPIC, 3)).await;
        assert!(matches!(code, ServerError::TopicNotFound | ServerError::NotAllowedError), "{code:?}");
        let more = |topic: &mut plerion_resources::PartitionedTopic| {
            topic.partitions = 3;
            Ok(())
        };
        world.handle().resources().topics().update_partitioned(&name(TOPIC), more).await.unwrap();
        client.open_producer(beyond).await;
    });
}

#[test]
fn an_initial_subscription_is_made_at_the_beginning() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "early").await;
        let open = CommandProducer { initial_subscription_name: Some("first".into()), ..producer(TOPIC, 2) };
        client.open_producer(open).await;
        let join = subscription(TOPIC, "first", SubType::Shared, 1);
        client.open_consumer(CommandSubscribe { initial_position: Some(0), ..join }).await;
        assert_eq!(client.take(1, 1).await[0].text(), "early");
    });
}

#[test]
fn an_initial_subscription_is_refused_where_none_come_into_being() {
    everywhere_with(&[("allowAutoSubscriptionCreation", "false")], async |world| {
        let mut client = world.session().await;
        let open = CommandProducer { initial_subscription_name: Some("first".into()), ..producer(TOPIC, 2) };
        assert_eq!(client.refused_producer(open).await.0, ServerError::NotAllowedError);
    });
}

#[test]
fn a_terminated_topic_takes_no_producer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.say(1, 0, "last").await;
        world.handle().terminate_topic(&name(TOPIC)).await.unwrap();
        assert_eq!(client.refused_producer(producer(TOPIC, 2)).await.0, ServerError::TopicTerminatedError);
    });
}

#[test]
fn statistics_show_the_producers_metadata() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let metadata = vec![KeyValue { key: "colour".into(), value: "red".into() }];
        client.open_producer(CommandProducer { metadata, ..named(3, "mine") }).await;
        let stats = world.handle().topic_stats(&name(TOPIC)).await.unwrap();
        let stats = &stats.publishers[0];
        assert_eq!((&*stats.producer_name, stats.producer_id), ("mine", 3));
        assert_eq!(stats.metadata["colour"], "red");
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

/// apache/pulsar#15559: what was not answered before is accepted when it is sent again.
#[test]
fn l12_resends_are_accepted_after_a_reconnect() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let given = client.open_producer(producer(TOPIC, 1)).await.producer_name;
        for sequence_id in 0..3 {
            client.say(1, sequence_id, "once").await;
        }
        world.unload(TOPIC).await;
        client.await_kind(Type::CloseProducer).await.unwrap();
        let success = client.open_producer(returning(1, &given, 1)).await;
        assert_eq!(success.last_sequence_id, Some(-1), "nobody deduplicates here");
        for sequence_id in 1..5 {
            client.say(1, sequence_id, "again").await;
        }
    });
}
