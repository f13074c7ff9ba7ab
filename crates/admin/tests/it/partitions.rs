use serde_json::json;

use crate::client::Client;
use crate::world::World;

const P: &str = "/admin/v2/persistent/public/default";

#[tokio::test]
async fn a_partitioned_topic_is_made_from_every_form_of_number() {
    let world = World::start().await;
    for (name, body) in [("a", "3"), ("b", r#""3""#), ("c", r#"{"partitions":3,"properties":{"k":"v"}}"#)] {
        let path = format!("{P}/{name}/partitions");
        let made = world.put(&path, body).await;
        assert_eq!(made.status, 204, "{body}: {}", made.text());
        let shown = world.get(&path).await.json();
        assert_eq!((&shown["partitions"], &shown["deleted"]), (&json!(3), &json!(false)));
        assert_eq!(world.put(&path, body).await.status, 409);
        assert_eq!(world.get(&format!("{P}/{name}-partition-2/stats")).await.status, 200);
        assert_eq!(world.get(&format!("{P}/{name}-partition-3/stats")).await.status, 404);
        assert_eq!(world.put(&format!("{P}/{name}"), "").await.status, 409);
    }
    let listed = world.get(&format!("{P}/partitioned")).await.json();
    assert_eq!(
        listed,
        json!(["persistent://public/default/a", "persistent://public/default/b", "persistent://public/default/c"])
    );
    assert_eq!(world.get(P).await.json().as_array().unwrap().len(), 9);
    for (body, status) in [("0", 406), ("-1", 406), ("", 400), ("{nope", 400), (r#"{"partitions":"x"}"#, 400)] {
        assert_eq!(world.put(&format!("{P}/bad/partitions"), body).await.status, status, "{body}");
    }
    assert_eq!(world.put("/admin/v2/persistent/public/none/t/partitions", "1").await.status, 404);
    assert_eq!(world.put(&format!("{P}/a-partition-0/partitions"), "1").await.status, 412);
}

#[tokio::test]
async fn a_topic_that_is_there_does_not_become_partitioned() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    let refused = world.put(&format!("{P}/t/partitions"), "3").await;
    assert_eq!((refused.status, refused.reason().as_str()), (409, "This topic already exists"));
    assert_eq!(
        world.get(&format!("{P}/t/partitions")).await.json(),
        json!({"partitions": 0, "properties": {}, "deleted": false})
    );
    assert_eq!(world.post(&format!("{P}/t/partitions"), "4").await.status, 409);
    assert_eq!(world.delete(&format!("{P}/t/partitions")).await.status, 404);
}

#[tokio::test]
async fn metadata_of_a_missing_topic_depends_on_who_may_make_it() {
    let world = World::start().await;
    let missing = world.get(&format!("{P}/nope/partitions")).await;
    assert_eq!((missing.status, missing.reason().as_str()), (404, "Topic persistent://public/default/nope not found"));
    let path = format!("{P}/nope/partitions?checkAllowAutoCreation=true");
    assert_eq!(world.get(&path).await.json()["partitions"], json!(0));
    world
        .post(
            "/admin/v2/namespaces/public/default/autoTopicCreation",
            r#"{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":2}"#,
        )
        .await;
    assert_eq!(world.get(&path).await.json()["partitions"], json!(2));
    assert_eq!(
        world.get("/admin/v2/persistent/public/none/t/partitions?checkAllowAutoCreation=true").await.status,
        404
    );
}

#[tokio::test]
async fn subscriptions_get_the_messages_of_new_partitions() {
    let world = World::start().await;
    world.put(&format!("{P}/p/partitions"), "1").await;
    assert_eq!(world.put(&format!("{P}/p/subscription/s"), "").await.status, 204);
    let path = format!("{P}/p/partitions");
    assert_eq!(world.post(&path, "3").await.status, 204);
    assert_eq!(world.get(&path).await.json()["partitions"], json!(3));
    assert_eq!(world.post(&path, "2").await.status, 422);
    assert_eq!(world.post(&format!("{P}/nope/partitions"), "4").await.status, 409);
    for index in 0..3 {
        let names = world.get(&format!("{P}/p-partition-{index}/subscriptions")).await.json();
        assert_eq!(names, json!(["s"]), "{index}");
    }
}

#[tokio::test]
async fn figures_of_partitions_add_up() {
    let world = World::start().await;
    world.put(&format!("{P}/p/partitions"), "2").await;
    world.put(&format!("{P}/p/subscription/s"), "").await;
    for index in 0..2 {
        let mut client = Client::connect(&world).await;
        client.produce(&format!("persistent://public/default/p-partition-{index}")).await;
        client.publish(b"hello", None).await;
    }
    let stats = world.get(&format!("{P}/p/partitioned-stats?perPartition=true")).await.json();
    assert_eq!((&stats["msgInCounter"], &stats["metadata"]["partitions"]), (&json!(2), &json!(2)));
    assert_eq!(stats["subscriptions"]["s"]["msgBacklog"], json!(2));
    assert_eq!(stats["partitions"]["persistent://public/default/p-partition-1"]["msgInCounter"], json!(1));
    let short = world.get(&format!("{P}/p/partitioned-stats?perPartition=false")).await.json();
    assert_eq!(short["partitions"], json!({}));
    assert_eq!(world.get(&format!("{P}/p/stats")).await.status, 404);
    let internal = world.get(&format!("{P}/p/partitioned-internalStats")).await.json();
    assert_eq!(internal["partitions"].as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn a_partitioned_topic_goes_with_its_partitions() {
    let world = World::start().await;
    let path = format!("{P}/p/partitions");
    world.put(&path, "2").await;
    assert_eq!(world.delete(&format!("{P}/p")).await.status, 409);
    let mut client = Client::connect(&world).await;
    client.produce("persistent://public/default/p-partition-1").await;
    // Refused as a whole.
    assert_eq!(world.delete(&path).await.status, 412);
    assert_eq!(world.get(&format!("{P}/p-partition-0/stats")).await.status, 200);
    assert_eq!(world.delete(&format!("{path}?force=true")).await.status, 204);
    assert_eq!(world.delete(&path).await.status, 404);
    assert_eq!(world.get(P).await.json(), json!([]));
    assert_eq!(world.get(&path).await.status, 404);
}

#[tokio::test]
async fn partitioned_topics_that_keep_nothing_have_metadata_only() {
    let world = World::start().await;
    let path = "/admin/v2/non-persistent/public/default/p/partitions";
    assert_eq!(world.put(path, "2").await.status, 204);
    assert_eq!(world.get(path).await.json()["partitions"], json!(2));
    assert_eq!(world.post(path, "3").await.status, 204);
    assert_eq!(world.delete(path).await.status, 204);
    assert_eq!(world.delete(path).await.status, 404);
}
