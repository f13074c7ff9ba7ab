//! PRODUCER.

use plerion_wire::ServerError;
use plerion_wire::proto::{CommandProducer, CommandSubscribe, KeyValue, Schema, command_subscribe::SubType, schema};

use crate::support::{Session, World, everywhere, everywhere_with, name, producer, subscription};

mod answers;
mod coming_and_going;
mod names;

const TOPIC: &str = "persistent://public/default/producers";

/// PRODUCER with a name that the application chose.
fn named(producer_id: u64, name: &str) -> CommandProducer {
    CommandProducer { producer_name: Some(name.into()), ..producer(TOPIC, producer_id) }
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

/// A client that does not answer whether it is alive.
async fn mute(world: &World) -> Session {
    let mut client = world.session().await;
    client.answers_pings = false;
    client
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
