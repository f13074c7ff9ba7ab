//! PARTITIONED_METADATA.

use plerion_test_client::Error;
use plerion_wire::ServerError;
use plerion_wire::proto::CommandPartitionedTopicMetadata;

use crate::support::{Session, everywhere, everywhere_with, name, producer, refusal};

const TOPIC: &str = "persistent://public/default/parts";

async fn partitions(client: &mut Session, topic: &str, may_create: Option<bool>) -> Result<u32, Error> {
    let make = |request_id| CommandPartitionedTopicMetadata {
        topic: topic.into(),
        request_id,
        metadata_auto_creation_enabled: may_create,
        ..Default::default()
    };
    Ok(client.try_ask(make).await?.partition_metadata_response.unwrap().partitions.unwrap())
}

#[test]
fn a_topic_that_may_be_made_counts_as_not_partitioned() {
    everywhere(async |world| {
        let mut client = world.session().await;
        assert_eq!(partitions(&mut client, TOPIC, None).await.unwrap(), 0);
        assert!(!world.handle().is_open(&name(TOPIC)).await.unwrap(), "asking makes nothing");
        client.open_producer(producer(TOPIC, 1)).await;
        for may_create in [None, Some(true), Some(false)] {
            assert_eq!(partitions(&mut client, TOPIC, may_create).await.unwrap(), 0);
        }
    });
}

#[test]
fn a_partitioned_topic_has_its_number_and_its_partitions_none() {
    everywhere(async |world| {
        world.partition(TOPIC, 4).await;
        let mut client = world.session().await;
        for may_create in [None, Some(true), Some(false)] {
            assert_eq!(partitions(&mut client, TOPIC, may_create).await.unwrap(), 4);
        }
        assert_eq!(partitions(&mut client, &format!("{TOPIC}-partition-3"), None).await.unwrap(), 0);
    });
}

/// PIP-344.
#[test]
fn whoever_asks_not_to_make_it_is_told_that_it_is_absent() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let (code, text) = refusal(partitions(&mut client, TOPIC, Some(false)).await);
        assert_eq!((code, &*text), (ServerError::TopicNotFound, ""));
    });
}

#[test]
fn absent_topics_of_a_broker_that_makes_none_are_not_found() {
    everywhere_with(&[("allowAutoTopicCreation", "false")], async |world| {
        let mut client = world.session().await;
        let (code, _) = refusal(partitions(&mut client, TOPIC, None).await);
        assert_eq!(code, ServerError::TopicNotFound);
        world.handle().create_topic(&name(TOPIC), Default::default()).await.unwrap();
        assert_eq!(partitions(&mut client, TOPIC, None).await.unwrap(), 0);
    });
}

#[test]
fn topics_come_into_being_with_partitions_where_that_is_the_default() {
    let settings = [("allowAutoTopicCreationType", "partitioned"), ("defaultNumPartitions", "3")];
    everywhere_with(&settings, async |world| {
        let mut client = world.session().await;
        let (code, _) = refusal(partitions(&mut client, TOPIC, Some(false)).await);
        assert_eq!(code, ServerError::TopicNotFound);
        assert_eq!(partitions(&mut client, TOPIC, None).await.unwrap(), 3);
        assert_eq!(partitions(&mut client, TOPIC, Some(false)).await.unwrap(), 3);
    });
}

#[test]
fn concurrent_firsts_make_one_topic() {
    let settings = [("allowAutoTopicCreationType", "partitioned"), ("defaultNumPartitions", "3")];
    everywhere_with(&settings, async |world| {
        let mut clients = Vec::new();
        for _ in 0..10 {
            clients.push(world.session().await);
        }
        let asked = clients.iter_mut().map(|client| partitions(client, TOPIC, None));
        for answer in futures::future::join_all(asked).await {
            assert_eq!(answer.unwrap(), 3);
        }
    });
}

#[test]
fn a_missing_namespace_or_tenant_is_a_definite_answer() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for topic in ["no-such-tenant/default/t", "public/no-such-namespace/t"] {
            let (code, _) = refusal(partitions(&mut client, topic, None).await);
            assert_eq!(code, ServerError::TopicNotFound);
        }
    });
}

#[test]
fn an_invalid_name_is_refused() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let (code, text) = refusal(partitions(&mut client, "a/b", None).await);
        assert_eq!(code, ServerError::InvalidTopicName);
        assert!(text.starts_with("Invalid topic name: "), "{text}");
    });
}

/// The limit is one at a time; only concurrency is refused.
#[test]
fn more_lookups_at_once_than_allowed_are_too_many() {
    everywhere_with(&[("maxConcurrentLookupRequest", "1")], async |world| {
        let mut client = world.session().await;
        for _ in 0..20 {
            assert_eq!(partitions(&mut client, TOPIC, None).await.unwrap(), 0);
        }
    });
}
