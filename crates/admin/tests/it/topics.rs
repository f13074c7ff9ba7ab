use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

const P: &str = "/admin/v2/persistent/public/default";
const NP: &str = "/admin/v2/non-persistent/public/default";

#[tokio::test]
async fn a_topic_is_made_once_and_deleted_once() {
    let world = World::start().await;
    assert_eq!(world.put(&format!("{P}/t"), "").await.status, 204);
    let again = world.put(&format!("{P}/t"), "null").await;
    assert_eq!((again.status, again.reason().as_str()), (409, "This topic already exists"));
    assert_eq!(world.get(P).await.json(), json!(["persistent://public/default/t"]));
    assert_eq!(world.get("/admin/v2/persistent/public/none").await.status, 404);
    let nowhere = world.put("/admin/v2/persistent/public/none/t", "").await;
    assert_eq!((nowhere.status, nowhere.reason().as_str()), (404, "Namespace not found"));
    assert_eq!(world.put(&format!("{P}/zz-partition-3"), "").await.status, 412);
    assert_eq!(world.delete(&format!("{P}/t")).await.status, 204);
    assert_eq!(world.delete(&format!("{P}/t")).await.status, 404);
    assert_eq!(world.get(P).await.json(), json!([]));
}

#[tokio::test]
async fn topics_have_odd_names() {
    let world = World::start().await;
    for (encoded, name) in
        [("a%20b%40c", "a b@c"), ("%E4%B8%AD", "中"), ("100%25", "100%"), ("a%3Fb%23c", "a?b#c"), ("x%2By", "x+y")]
    {
        let path = format!("{P}/{encoded}");
        assert_eq!(world.put(&path, "").await.status, 204, "{encoded}");
        assert_eq!(world.get(&format!("{path}/stats")).await.status, 200, "{encoded}");
        assert_eq!(world.get(P).await.json(), json!([format!("persistent://public/default/{name}")]));
        assert_eq!(world.delete(&path).await.status, 204, "{encoded}");
    }
    // An encoded slash makes a name of the older form, which has a namespace of its own.
    assert!(world.put(&format!("{P}/a%2Fb"), "").await.status >= 400);
    assert_eq!(world.put(&format!("{P}/%FF"), "").await.status, 400);
}

#[tokio::test]
async fn a_topic_in_use_is_deleted_only_by_force() {
    let world = World::start().await;
    let mut client = Client::connect(&world).await;
    client.produce("persistent://public/default/t").await;
    let busy = world.delete(&format!("{P}/t")).await;
    assert_eq!(busy.status, 412, "{}", busy.text());
    assert_eq!(world.get(&format!("{P}/t/stats")).await.json()["publishers"].as_array().unwrap().len(), 1);
    assert_eq!(world.delete(&format!("{P}/t?force=true")).await.status, 204);
    assert_eq!(world.get(&format!("{P}/t/stats")).await.status, 404);
}

#[tokio::test]
async fn figures_tell_of_clients_and_messages() {
    let world = World::start().await;
    let mut producer = Client::connect(&world).await;
    producer.produce("persistent://public/default/t").await;
    let mut consumer = Client::connect(&world).await;
    consumer.subscribe("persistent://public/default/t", "s").await;
    producer.publish(b"hello", None).await;
    let stats = world.get(&format!("{P}/t/stats")).await.json();
    assert_eq!(stats["msgInCounter"], json!(1));
    assert_eq!(stats["publishers"][0]["clientVersion"], json!("it-1"));
    let subscription = &stats["subscriptions"]["s"];
    assert_eq!((&subscription["type"], &subscription["isDurable"]), (&json!("Shared"), &json!(true)));
    assert_eq!(subscription["msgBacklog"], json!(1));
    assert_eq!(subscription["consumers"][0]["consumerName"], json!("consumer"));
    let query = "getPreciseBacklog=true&excludePublishers=true&excludeConsumers=true";
    let few = world.get(&format!("{P}/t/stats?{query}")).await.json();
    assert_eq!((&few["publishers"], &few["subscriptions"]["s"]["consumers"]), (&json!([]), &json!([])));
    assert_eq!(few["replication"], json!({}));

    let internal = world.get(&format!("{P}/t/internalStats")).await.json();
    assert_eq!(internal["numberOfEntries"], json!(1));
    assert!(internal["cursors"].get("s").is_some(), "{internal}");
    for absent in ["nope/stats", "nope/internalStats", "nope/partitioned-stats", "t/partitioned-stats"] {
        assert_eq!(world.get(&format!("{P}/{absent}")).await.status, 404, "{absent}");
    }
}

#[tokio::test]
async fn an_unloaded_topic_keeps_what_it_has() {
    let world = World::start().await;
    let mut producer = Client::connect(&world).await;
    producer.produce("persistent://public/default/t").await;
    producer.publish(b"hello", None).await;
    assert_eq!(world.put(&format!("{P}/t/unload"), "").await.status, 204);
    let stats = world.get(&format!("{P}/t/stats")).await.json();
    assert_eq!(stats["publishers"], json!([]));
    assert_eq!(world.get(&format!("{P}/t/internalStats")).await.json()["numberOfEntries"], json!(1));
    assert_eq!(world.put(&format!("{P}/nope/unload"), "").await.status, 404);
}

#[tokio::test]
async fn a_terminated_topic_tells_its_last_message() {
    let world = World::start().await;
    let mut producer = Client::connect(&world).await;
    producer.produce("persistent://public/default/t").await;
    producer.publish(b"hello", None).await;
    let last = world.get(&format!("{P}/t/lastMessageId")).await.json();
    let end = world.post(&format!("{P}/t/terminate"), "").await.json();
    assert_eq!(end, last);
    assert_eq!((&end["entryId"], &end["partitionIndex"]), (&json!(0), &json!(-1)));
    assert_eq!(world.get(&format!("{P}/t/internalStats")).await.json()["state"], json!("Terminated"));

    world.put(&format!("{P}/p/partitions"), "2").await;
    assert_eq!(world.post(&format!("{P}/p/terminate"), "").await.status, 405);
    let ends = world.post(&format!("{P}/p/terminate/partitions"), "").await.json();
    assert_eq!(ends["1"]["partitionIndex"], json!(1));
    assert_eq!(world.post(&format!("{P}/nope/terminate"), "").await.status, 404);
}

#[tokio::test]
async fn properties_are_added_and_removed() {
    let world = World::start().await;
    assert_eq!(world.put(&format!("{P}/t"), r#"{"a":"1"}"#).await.status, 204);
    world.put(&format!("{P}/p/partitions"), r#"{"partitions":1,"properties":{"a":"1"}}"#).await;
    for name in ["t", "p"] {
        let path = format!("{P}/{name}/properties");
        assert_eq!(world.get(&path).await.json(), json!({"a": "1"}), "{name}");
        assert_eq!(world.put(&path, r#"{"b":"2"}"#).await.status, 204);
        assert_eq!(world.get(&path).await.json(), json!({"a": "1", "b": "2"}), "{name}");
        assert_eq!(world.delete(&format!("{path}?key=a")).await.status, 204);
        assert_eq!(world.delete(&path).await.status, 412);
        assert_eq!(world.get(&path).await.json(), json!({"b": "2"}), "{name}");
    }
    assert_eq!(world.get(&format!("{P}/nope/properties")).await.status, 404);
}

#[tokio::test]
async fn permissions_of_a_topic_add_to_those_of_its_namespace() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    world.post("/admin/v2/namespaces/public/default/permissions/all", r#"["consume"]"#).await;
    assert_eq!(world.post(&format!("{P}/t/permissions/me"), r#"["produce"]"#).await.status, 204);
    assert_eq!(world.get(&format!("{P}/t/permissions")).await.json(), json!({"all": ["consume"], "me": ["produce"]}));
    assert_eq!(world.get(&format!("{P}/u/permissions")).await.json(), json!({"all": ["consume"]}));
    assert_eq!(world.delete(&format!("{P}/t/permissions/me")).await.status, 204);
    assert_eq!(world.get(&format!("{P}/t/permissions")).await.json(), json!({"all": ["consume"]}));
}

#[tokio::test]
async fn what_is_not_done_is_not_promised() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    assert_eq!(world.get(&format!("{P}/t/compaction")).await.json()["status"], json!("NOT_RUN"));
    assert_eq!(world.put(&format!("{P}/t/compaction"), "").await.status, 501);
    assert_eq!(world.get(&format!("{P}/t/offload")).await.status, 501);
    assert_eq!(world.put(&format!("{P}/nope/compaction"), "").await.status, 404);
}

#[tokio::test]
async fn a_topic_that_keeps_nothing_exists_while_it_is_open() {
    let world = World::start().await;
    assert_eq!(world.get(&format!("{NP}/np/stats")).await.status, 404);
    assert_eq!(world.get(NP).await.json(), json!([]));
    assert_eq!(world.put(&format!("{NP}/np"), "").await.status, 204);
    assert_eq!(world.put(&format!("{NP}/np"), "").await.status, 409);
    assert_eq!(world.get(NP).await.json(), json!(["non-persistent://public/default/np"]));
    let stats = world.get(&format!("{NP}/np/stats")).await.json();
    assert_eq!(stats["publishers"], Value::Array(Vec::new()));
    assert_eq!(world.post(&format!("{NP}/np/terminate"), "").await.status, 405);
    assert_eq!(world.put(&format!("{NP}/np/subscription/s"), "").await.status, 405);
    assert_eq!(world.delete(&format!("{NP}/np")).await.status, 204);
    assert_eq!(world.delete(&format!("{NP}/np")).await.status, 404);
}
