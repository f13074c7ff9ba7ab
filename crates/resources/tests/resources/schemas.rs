//! Schemas of topics.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::join_all;
use plerion_resources::Error;
use plerion_resources::names::TopicName;
use plerion_resources::schemas::{Added, Schema, SchemaType, Schemas, StoredSchema};

use crate::started;

fn topic() -> TopicName {
    "persistent://public/default/t".parse().unwrap()
}

fn schema(data: &str) -> Schema {
    Schema {
        schema_type: SchemaType::Json,
        data: Bytes::copy_from_slice(data.as_bytes()),
        properties: BTreeMap::new(),
        user: String::new(),
        timestamp_ms: 1,
    }
}

async fn add(schemas: &Schemas, data: &str) -> Added {
    schemas.add(&topic(), &schema(data), |_| Ok(())).await.unwrap()
}

fn versions(stored: &[StoredSchema]) -> Vec<u64> {
    stored.iter().map(|stored| stored.version).collect()
}

#[tokio::test]
async fn the_same_schema_has_one_version() {
    let (_, resources) = started().await;
    let schemas = resources.schemas();
    assert_eq!(schemas.latest(&topic()).await.unwrap(), None);
    assert_eq!(add(schemas, r#"{"a":1,"b":2}"#).await, Added::New(0));
    assert_eq!(add(schemas, r#"{"a":2}"#).await, Added::New(1));
    assert_eq!(add(schemas, r#"{ "b": 2, "a": 1 }"#).await, Added::Existing(0));
    assert_eq!(schemas.find(&topic(), &schema(r#"{"a":2}"#)).await.unwrap(), Some(1));

    // Partitions share the schemas of their topic, and have no others.
    let partition = topic().partition(3);
    let latest = schemas.latest(&partition).await.unwrap().unwrap();
    assert_eq!((latest.version, latest.schema), (1, Some(schema(r#"{"a":2}"#))));
    let first = schemas.get(&partition, 0).await.unwrap().unwrap();
    assert_eq!(first.schema, Some(schema(r#"{"a":1,"b":2}"#)));
    assert_eq!(schemas.get(&partition, 2).await.unwrap(), None);
}

#[tokio::test]
async fn a_check_sees_every_version_and_can_refuse() {
    let (_, resources) = started().await;
    let schemas = resources.schemas();
    for version in 0..12 {
        let check = |stored: &[StoredSchema]| {
            assert_eq!(versions(stored), (0..version).collect::<Vec<_>>());
            Ok(())
        };
        let added = schemas.add(&topic(), &schema(&version.to_string()), check).await.unwrap();
        assert_eq!(added.version(), version);
    }
    let refused = Error::Invalid { why: "incompatible".to_owned() };
    let outcome = schemas.add(&topic(), &schema("null"), |_| Err(refused.clone())).await;
    assert_eq!(outcome, Err(refused));
    // A schema the topic has is not checked again.
    let known = schemas.add(&topic(), &schema("3"), |_| Err(Error::Invalid { why: String::new() })).await;
    assert_eq!(known, Ok(Added::Existing(3)));
    assert_eq!(schemas.list(&topic()).await.unwrap().len(), 12);
}

#[tokio::test]
async fn concurrent_additions_get_distinct_versions() {
    let (_, resources) = started().await;
    let added = join_all((0..10).map(|at| {
        let resources = resources.clone();
        // Two add each schema.
        tokio::spawn(async move { add(resources.schemas(), &(at / 2).to_string()).await })
    }))
    .await;
    let mut new: Vec<u64> = added
        .into_iter()
        .filter_map(|added| match added.unwrap() {
            Added::New(version) => Some(version),
            Added::Existing(_) => None,
        })
        .collect();
    new.sort_unstable();
    assert_eq!(new, [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn deleted_schemas_keep_their_numbers() {
    let (_, resources) = started().await;
    let schemas = resources.schemas();
    assert_eq!(schemas.delete(&topic()).await.unwrap(), None);
    add(schemas, "1").await;
    add(schemas, "2").await;
    assert_eq!(schemas.delete(&topic()).await.unwrap(), Some(2));
    assert_eq!(schemas.delete(&topic()).await.unwrap(), None);
    assert_eq!(schemas.latest(&topic()).await.unwrap(), None);
    assert_eq!(schemas.get(&topic(), 2).await.unwrap(), None);
    assert_eq!(schemas.list(&topic()).await.unwrap(), []);
    // Messages written before can still be read.
    assert!(schemas.get(&topic(), 1).await.unwrap().is_some());
    assert_eq!(add(schemas, "1").await, Added::New(3));
    assert_eq!(versions(&schemas.list(&topic()).await.unwrap()), [3]);
}

#[tokio::test]
async fn purged_schemas_begin_anew() {
    let (_, resources) = started().await;
    let schemas = resources.schemas();
    add(schemas, "1").await;
    schemas.delete(&topic()).await.unwrap();
    schemas.purge(&topic()).await.unwrap();
    schemas.purge(&topic()).await.unwrap();
    assert_eq!(add(schemas, "2").await, Added::New(0));
}
