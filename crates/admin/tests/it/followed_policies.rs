//! Policies are in force when the request that sets them is answered, for topics that are open and those that come.

use serde_json::json;

use crate::client::Client;
use crate::world::World;

const N: &str = "/admin/v2/namespaces/public/default";
const P: &str = "/admin/v2/persistent/public/default";
const T: &str = "persistent://public/default/t";

async fn set(world: &World, path: &str, value: &str) {
    let answer = world.post(path, value).await;
    assert_eq!(answer.status, 204, "{path} {value}: {}", answer.text());
}

#[tokio::test]
async fn a_topic_s_limit_comes_before_its_namespace_s() {
    let world = World::start().await;
    let mut client = Client::connect(&world).await;
    client.produce(T).await;
    set(&world, &format!("{N}/maxProducersPerTopic"), "1").await;
    let refused = client.try_produce(T, 2).await.unwrap_err();
    assert!(refused.contains("max producers limit"), "{refused}");
    set(&world, &format!("{P}/t/maxProducers"), "2").await;
    client.try_produce(T, 3).await.unwrap();
    client.try_produce(T, 4).await.unwrap_err();
    set(&world, &format!("{P}/t/maxProducers"), "0").await;
    client.try_produce(T, 5).await.unwrap();
    assert_eq!(world.delete(&format!("{P}/t/maxProducers")).await.status, 204);
    client.try_produce(T, 6).await.unwrap_err();
    assert_eq!(world.delete(&format!("{N}/maxProducersPerTopic")).await.status, 204);
    client.try_produce(T, 7).await.unwrap();
}

#[tokio::test]
async fn consumers_and_subscriptions_are_limited() {
    let world = World::start().await;
    let mut client = Client::connect(&world).await;
    client.subscribe(T, "a").await;
    set(&world, &format!("{N}/maxConsumersPerSubscription"), "1").await;
    client.try_subscribe(T, "a", 2).await.unwrap_err();
    set(&world, &format!("{N}/maxSubscriptionsPerTopic"), "1").await;
    client.try_subscribe(T, "b", 3).await.unwrap_err();
    set(&world, &format!("{P}/t/maxSubscriptionsPerTopic"), "5").await;
    client.try_subscribe(T, "b", 4).await.unwrap();
    set(&world, &format!("{P}/t/maxConsumers"), "2").await;
    client.try_subscribe(T, "c", 5).await.unwrap_err();
    // A topic that comes later follows as well, one without a log too.
    for topic in ["persistent://public/default/later", "non-persistent://public/default/later"] {
        client.try_subscribe(topic, "a", 10).await.unwrap();
        client.try_subscribe(topic, "a", 11).await.unwrap_err();
        let close = world.delete(&format!("{N}/maxConsumersPerSubscription")).await;
        assert_eq!(close.status, 204);
        client.try_subscribe(topic, "a", 12).await.unwrap();
        set(&world, &format!("{N}/maxConsumersPerSubscription"), "1").await;
        client = Client::connect(&world).await;
    }
}

#[tokio::test]
async fn partitions_follow_their_topic() {
    let world = World::start().await;
    assert_eq!(world.put(&format!("{P}/t/partitions"), "2").await.status, 204);
    let mut client = Client::connect(&world).await;
    set(&world, &format!("{P}/t/maxProducers"), "1").await;
    for (id, partition) in [(1, 0), (3, 1)] {
        let partition = format!("{T}-partition-{partition}");
        client.try_produce(&partition, id).await.unwrap();
        client.try_produce(&partition, id + 1).await.unwrap_err();
    }
}

#[tokio::test]
async fn subscriptions_may_have_to_be_made_beforehand() {
    let world = World::start().await;
    let mut client = Client::connect(&world).await;
    client.produce(T).await;
    set(&world, &format!("{N}/autoSubscriptionCreation"), r#"{"allowAutoSubscriptionCreation":false}"#).await;
    client.try_subscribe(T, "s", 1).await.unwrap_err();
    assert_eq!(world.put(&format!("{P}/t/subscription/s"), "").await.status, 204);
    client.try_subscribe(T, "s", 2).await.unwrap();
}

#[tokio::test]
async fn encryption_and_a_schema_may_be_demanded_of_producers() {
    let world = World::start().await;
    let mut client = Client::connect(&world).await;
    client.produce(T).await;
    set(&world, &format!("{N}/encryptionRequired"), "true").await;
    let refused = client.try_produce(T, 2).await.unwrap_err();
    assert!(refused.contains("Encryption is required"), "{refused}");
    set(&world, &format!("{N}/encryptionRequired"), "false").await;
    set(&world, &format!("{N}/schemaValidationEnforced"), "true").await;
    client.try_produce(T, 3).await.unwrap();
    let schema = json!({"type": "STRING", "schema": "", "properties": {}}).to_string();
    let posted = world.post("/admin/v2/schemas/public/default/t/schema", &schema).await;
    assert_eq!(posted.status, 200, "{}", posted.text());
    client.try_produce(T, 4).await.unwrap_err();
}

#[tokio::test]
async fn a_topic_deduplicates_as_it_is_set_itself() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    let status = async || world.get(&format!("{P}/t/stats")).await.json()["deduplicationStatus"].clone();
    set(&world, &format!("{P}/t/deduplicationEnabled"), "true").await;
    assert_eq!(status().await, json!("Enabled"));
    set(&world, &format!("{N}/deduplication"), "false").await;
    assert_eq!(status().await, json!("Enabled"));
    assert_eq!(world.delete(&format!("{P}/t/deduplicationEnabled")).await.status, 204);
    assert_eq!(status().await, json!("Disabled"));
}

#[tokio::test]
async fn a_namespace_made_anew_is_not_taken_for_the_old_one() {
    let world = World::start().await;
    let (namespace, topic) = ("/admin/v2/namespaces/public/again", "/admin/v2/persistent/public/again/t");
    for count in [4, 2, 8] {
        assert_eq!(world.put(namespace, &json!({"numBundles": count}).to_string()).await.status, 204);
        assert_eq!(world.get(&format!("{namespace}/bundles")).await.json()["numBundles"], count);
        assert_eq!(world.put(&format!("{topic}/partitions"), "4").await.status, 204);
        assert_eq!(world.delete(&format!("{topic}/partitions")).await.status, 204);
        assert_eq!(world.delete(namespace).await.status, 204);
        assert_eq!(world.put(&format!("{topic}/partitions"), "4").await.status, 404);
    }
}

#[tokio::test]
async fn a_topic_is_made_by_request_where_use_does_not_make_it() {
    let world = World::start().await;
    set(&world, &format!("{N}/autoTopicCreation"), r#"{"allowAutoTopicCreation":false}"#).await;
    let mut client = Client::connect(&world).await;
    client.try_produce(T, 1).await.unwrap_err();
    assert_eq!(world.put(&format!("{P}/t"), "").await.status, 204);
    client.try_produce(T, 2).await.unwrap();
}
