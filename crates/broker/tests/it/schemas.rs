//! Schemas, as far as the binary protocol carries them.

use bytes::Bytes;
use plerion_test_client::Error;
use plerion_wire::ServerError;
use plerion_wire::proto::{
    CommandGetOrCreateSchema, CommandGetSchema, CommandGetSchemaResponse, CommandProducer, CommandSubscribe, KeyValue,
    Schema, command_subscribe::SubType, schema::Type,
};

use crate::support::{Session, everywhere, everywhere_with, producer, refusal, subscription};

const TOPIC: &str = "persistent://public/default/schemas";
const FIRST: [u8; 8] = [0; 8];

fn schema(kind: Type) -> Schema {
    let properties = vec![KeyValue { key: "__jsr310ConversionEnabled".into(), value: "false".into() }];
    Schema { name: "mine".into(), r#type: kind.into(), properties, ..Default::default() }
}

fn with(schema: Schema, producer_id: u64) -> CommandProducer {
    CommandProducer { schema: Some(schema), ..producer(TOPIC, producer_id) }
}

fn consuming(schema: Schema) -> CommandSubscribe {
    CommandSubscribe { schema: Some(schema), ..subscription(TOPIC, "s", SubType::Shared, 1) }
}

async fn get(client: &mut Session, topic: &str, version: Option<&[u8]>) -> Result<CommandGetSchemaResponse, Error> {
    let (topic, schema_version) = (topic.to_owned(), version.map(Bytes::copy_from_slice));
    let answer = client.try_ask(|request_id| CommandGetSchema { request_id, topic, schema_version }).await?;
    Ok(*answer.get_schema_response.unwrap())
}

async fn register(client: &mut Session, topic: &str, schema: Schema) -> Result<Bytes, Error> {
    let topic = topic.to_owned();
    let answer = client.try_ask(|request_id| CommandGetOrCreateSchema { request_id, topic, schema }).await?;
    Ok(answer.get_or_create_schema_response.unwrap().schema_version.unwrap())
}

/// Python `test_schema_version` wants eight zeros.
#[test]
fn the_first_schema_is_version_zero() {
    everywhere(async |world| {
        let mut client = world.session().await;
        for id in [1, 2] {
            let success = client.open_producer(with(schema(Type::String), id)).await;
            assert_eq!(success.schema_version.as_deref(), Some(&FIRST[..]));
        }
        assert!(client.open_producer(producer(TOPIC, 3)).await.schema_version().is_empty());
        for kind in [Type::None, Type::AutoConsume] {
            client.close_producer(4).await.unwrap();
            assert!(client.open_producer(with(schema(kind), 4)).await.schema_version().is_empty());
        }
    });
}

#[test]
fn a_schema_comes_back_as_it_was_given() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(with(schema(Type::Int64), 1)).await;
        for version in [None, Some(&FIRST[..])] {
            let found = get(&mut client, TOPIC, version).await.unwrap();
            assert_eq!(found.schema_version.as_deref(), Some(&FIRST[..]));
            let found = found.schema.unwrap();
            assert_eq!(found.r#type(), Type::Int64);
            assert_eq!(found.properties, schema(Type::Int64).properties);
        }
        // Schemas belong to all partitions.
        let found = get(&mut client, &format!("{TOPIC}-partition-0"), None).await.unwrap();
        assert_eq!(found.schema.unwrap().r#type(), Type::Int64);
    });
}

#[test]
fn what_is_not_there_is_not_found() {
    everywhere(async |world| {
        let mut client = world.session().await;
        assert_eq!(refusal(get(&mut client, TOPIC, None).await).0, ServerError::TopicNotFound);
        client.open_producer(producer(TOPIC, 1)).await;
        assert_eq!(refusal(get(&mut client, TOPIC, None).await).0, ServerError::TopicNotFound);
        client.open_producer(with(schema(Type::String), 2)).await;
        let beyond = [0, 0, 0, 0, 0, 0, 0, 9];
        assert_eq!(refusal(get(&mut client, TOPIC, Some(&beyond)).await).0, ServerError::TopicNotFound);
        assert_eq!(refusal(get(&mut client, TOPIC, Some(&[])).await).0, ServerError::IncompatibleSchema);
        assert_eq!(refusal(get(&mut client, "a/b", None).await).0, ServerError::InvalidTopicName);
    });
}

#[test]
fn a_schema_is_registered_once() {
    everywhere(async |world| {
        let mut client = world.session().await;
        let absent = register(&mut client, TOPIC, schema(Type::String)).await;
        assert_eq!(refusal(absent).0, ServerError::TopicNotFound);
        client.open_producer(producer(TOPIC, 1)).await;
        for _ in 0..3 {
            assert_eq!(register(&mut client, TOPIC, schema(Type::String)).await.unwrap(), FIRST[..]);
        }
        let other = register(&mut client, TOPIC, schema(Type::Int8)).await;
        assert_eq!(refusal(other).0, ServerError::IncompatibleSchema);
    });
}

#[test]
fn a_topic_keeps_its_type() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_producer(with(schema(Type::Double), 1)).await;
        assert_eq!(client.refused_producer(with(schema(Type::Float), 2)).await.0, ServerError::IncompatibleSchema);
        assert_eq!(client.refused_consumer(consuming(schema(Type::Float))).await.0, ServerError::IncompatibleSchema);
        for kind in [Type::Double, Type::AutoConsume, Type::None] {
            client.open_consumer(consuming(schema(kind))).await;
            client.close_consumer(1).await.unwrap();
        }
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
    });
}

#[test]
fn the_first_consumer_may_bring_the_schema() {
    everywhere(async |world| {
        let mut client = world.session().await;
        client.open_consumer(consuming(schema(Type::String))).await;
        assert_eq!(get(&mut client, TOPIC, None).await.unwrap().schema.unwrap().r#type(), Type::String);
        assert_eq!(client.refused_producer(with(schema(Type::Int8), 1)).await.0, ServerError::IncompatibleSchema);
    });
}

#[test]
fn producers_without_schema_are_refused_where_one_is_enforced() {
    everywhere_with(&[("isSchemaValidationEnforced", "true")], async |world| {
        let mut client = world.session().await;
        client.open_producer(producer(TOPIC, 1)).await;
        client.open_producer(with(schema(Type::String), 2)).await;
        assert_eq!(client.refused_producer(producer(TOPIC, 3)).await.0, ServerError::IncompatibleSchema);
        client.open_consumer(subscription(TOPIC, "s", SubType::Shared, 1)).await;
    });
}
