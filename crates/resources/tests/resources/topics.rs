//! Topics, partitions and what is set for them.

use std::collections::BTreeMap;

use bytes::Bytes;
use plerion_metadata::{Expect, PutOptions, SharedMetadataStore};
use plerion_resources::Error;
use plerion_resources::names::{Domain, NamespaceName, TopicName};
use serde_json::json;

use crate::started;

fn topic(name: &str) -> TopicName {
    name.parse().unwrap()
}

fn public() -> NamespaceName {
    NamespaceName::DEFAULT.parse().unwrap()
}

/// The row that a topic's log leaves.
async fn add_log(store: &SharedMetadataStore, name: &str) {
    let path = format!("/managed-ledgers/{}", topic(name).log_name());
    store.put(&path, Bytes::new(), Expect::Any, PutOptions::PERSISTENT).await.unwrap();
}

#[tokio::test]
async fn a_namespace_lists_logs_and_every_partition() {
    let (store, resources) = started().await;
    let topics = resources.topics();
    for name in ["b", "a", "slash%2Fed", "p-partition-1", "__change_events", "public/other/x"] {
        add_log(&store, name).await;
    }
    topics.create_partitioned(&topic("p"), 3, BTreeMap::new()).await.unwrap();
    topics.create_partitioned(&topic("non-persistent://public/default/np"), 1, BTreeMap::new()).await.unwrap();
    let names = topics.list(&public(), Domain::Persistent).await.unwrap();
    let names: Vec<&str> = names.iter().filter(|name| !name.is_system()).map(TopicName::local_name).collect();
    assert_eq!(names, ["a", "b", "p-partition-0", "p-partition-1", "p-partition-2", "slash%2Fed"]);
    let volatile = topics.list(&public(), Domain::NonPersistent).await.unwrap();
    assert_eq!(volatile, [topic("non-persistent://public/default/np-partition-0")]);
    let partitioned = topics.list_partitioned(&public(), Domain::Persistent).await.unwrap();
    assert_eq!(partitioned.keys().collect::<Vec<_>>(), [&topic("p")]);
    let nowhere = "no/where".parse().unwrap();
    assert_eq!(topics.list(&nowhere, Domain::Persistent).await.unwrap(), []);
}

#[tokio::test]
async fn large_namespaces_are_listed_in_pages() {
    let (store, resources) = started().await;
    for at in 0..2_500 {
        add_log(&store, &format!("t{at:04}")).await;
    }
    let names = resources.topics().list(&public(), Domain::Persistent).await.unwrap();
    assert_eq!(names.len(), 2_500);
    assert!(names.is_sorted());
}

#[tokio::test]
async fn partitions_are_made_and_grow() {
    let (store, resources) = started().await;
    let topics = resources.topics();
    let name = topic("p");
    assert_eq!(topics.partitioned(&name).await.unwrap(), None);
    let properties: BTreeMap<_, _> = [("k".to_owned(), "v".to_owned())].into();
    topics.create_partitioned(&name, 2, properties.clone()).await.unwrap();
    let stored = topics.partitioned(&name).await.unwrap().unwrap();
    assert_eq!((stored.partitions, stored.properties), (2, properties));
    assert_eq!(topics.partitioned(&name.partition(1)).await.unwrap(), None);
    assert!(matches!(topics.create_partitioned(&name, 2, BTreeMap::new()).await, Err(Error::AlreadyExists { .. })));

    let grow = |to| {
        move |row: &mut plerion_resources::PartitionedTopic| {
            row.partitions = to;
            Ok(())
        }
    };
    assert_eq!(topics.update_partitioned(&name, grow(5)).await.unwrap().partitions, 5);
    assert!(matches!(topics.update_partitioned(&name, grow(4)).await, Err(Error::Invalid { .. })));
    assert_eq!(topics.partitioned(&name).await.unwrap().unwrap().partitions, 5);

    add_log(&store, "plain").await;
    assert!(matches!(
        topics.create_partitioned(&topic("plain"), 1, BTreeMap::new()).await,
        Err(Error::AlreadyExists { .. })
    ));
    for (bad, partitions) in [("q", 0), ("q-partition-0", 1)] {
        let refused = topics.create_partitioned(&topic(bad), partitions, BTreeMap::new()).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{bad}");
    }
    topics.delete_partitioned(&name).await.unwrap();
    assert!(matches!(topics.delete_partitioned(&name).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn partitioned_metadata_of_the_original_is_read() {
    let (store, resources) = started().await;
    for stored in [r#"{"partitions":4}"#, r#"{"partitions":4,"properties":null,"deleted":false}"#] {
        let path = "/admin/partitioned-topics/public/default/persistent/p";
        store.put(path, stored.into(), Expect::Any, PutOptions::PERSISTENT).await.unwrap();
        assert_eq!(resources.topics().partitioned(&topic("p")).await.unwrap().unwrap().partitions, 4);
    }
}

#[tokio::test]
async fn topic_policies_are_shared_by_partitions() {
    let (_, resources) = started().await;
    let topics = resources.topics();
    let name = topic("p");
    assert!(topics.policies(&name).await.unwrap().is_empty());
    for (key, value) in [("messageTTLInSeconds", json!(7)), ("maxProducerPerTopic", json!(1))] {
        topics
            .update_policies(&name.partition(3), |policies| {
                policies.insert(key.to_owned(), value.clone());
                Ok(())
            })
            .await
            .unwrap();
    }
    let policies = topics.policies(&name).await.unwrap();
    assert_eq!(json!(policies), json!({"messageTTLInSeconds": 7, "maxProducerPerTopic": 1}));
    topics.delete_policies(&name).await.unwrap();
    topics.delete_policies(&name).await.unwrap();
    assert!(topics.policies(&name.partition(0)).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_deleted_namespace_leaves_nothing_set() {
    let (store, resources) = started().await;
    let name = topic("p");
    resources.topics().create_partitioned(&name, 2, BTreeMap::new()).await.unwrap();
    resources.topics().update_policies(&name, |_| Ok(())).await.unwrap();
    resources.namespaces().delete(&public()).await.unwrap();
    assert!(matches!(resources.namespaces().delete(&public()).await, Err(Error::NotFound { .. })));
    let left = store.scan("/", None, 100).await.unwrap();
    assert!(left.iter().all(|(path, _)| !path.contains("public/default")), "{left:?}");
}
