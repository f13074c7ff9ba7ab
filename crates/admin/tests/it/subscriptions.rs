use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

const P: &str = "/admin/v2/persistent/public/default";

async fn backlog(world: &World, topic: &str) -> Value {
    world.get(&format!("{P}/{topic}/stats")).await.json()["subscriptions"]["s"]["msgBacklog"].clone()
}

/// A topic with five messages.
async fn five(world: &World) -> Client {
    let mut client = Client::connect(world).await;
    client.produce("persistent://public/default/t").await;
    for _ in 0..5 {
        client.publish(b"hello", None).await;
    }
    client
}

#[tokio::test]
async fn a_subscription_begins_where_it_is_told_to() {
    let world = World::start().await;
    let _client = five(&world).await;
    let last = world.get(&format!("{P}/t/lastMessageId")).await.json();
    let third = json!({"ledgerId": last["ledgerId"], "entryId": 2, "partitionIndex": -1}).to_string();
    for (body, left) in [("", 0), (r#""latest""#, 0), (r#""earliest""#, 5), (&third, 3)] {
        assert_eq!(world.put(&format!("{P}/t/subscription/s"), body).await.status, 204, "{body}");
        assert_eq!(backlog(&world, "t").await, json!(left), "{body}");
        assert_eq!(world.get(&format!("{P}/t/subscriptions")).await.json(), json!(["s"]));
        let again = world.put(&format!("{P}/t/subscription/s"), body).await;
        assert_eq!((again.status, again.reason().as_str()), (409, "Subscription already exists for topic"));
        assert_eq!(world.delete(&format!("{P}/t/subscription/s")).await.status, 204);
        assert_eq!(world.delete(&format!("{P}/t/subscription/s")).await.status, 404);
    }
    assert_eq!(world.put(&format!("{P}/t/subscription/s"), r#""soon""#).await.status, 400);
    assert_eq!(world.put(&format!("{P}/t/subscription/__compaction"), "").await.status, 412);
    // The topic is made where it is not there.
    assert_eq!(world.put(&format!("{P}/new/subscription/a%2Fb"), "").await.status, 204);
    assert_eq!(world.get(&format!("{P}/new/subscriptions")).await.json(), json!(["a/b"]));
    assert_eq!(world.get(&format!("{P}/none/subscriptions")).await.status, 404);
}

#[tokio::test]
async fn a_subscription_in_use_is_deleted_only_by_force() {
    let world = World::start().await;
    let mut client = Client::connect(&world).await;
    client.subscribe("persistent://public/default/t", "s").await;
    assert_eq!(world.delete(&format!("{P}/t/subscription/s")).await.status, 412);
    assert_eq!(world.delete(&format!("{P}/t/subscription/s?force=true")).await.status, 204);
    assert_eq!(world.get(&format!("{P}/t/subscriptions")).await.json(), json!([]));
}

#[tokio::test]
async fn a_subscription_is_moved() {
    let world = World::start().await;
    let _client = five(&world).await;
    let s = format!("{P}/t/subscription/s");
    world.put(&s, "").await;
    let ledger = world.get(&format!("{P}/t/lastMessageId")).await.json()["ledgerId"].clone();
    let at =
        |entry: i64, excluded: bool| json!({"ledgerId": ledger, "entryId": entry, "isExcluded": excluded}).to_string();
    for (path, body, left) in [
        ("/resetcursor/0", String::new(), 5),
        ("/resetcursor/1003", String::new(), 2),
        ("/resetcursor/9223372036854775807", String::new(), 0),
        ("/resetcursor", at(1, false), 4),
        ("/resetcursor", at(1, true), 3),
        ("/resetcursor", json!({"ledgerId": -1, "entryId": -1}).to_string(), 5),
        ("/skip/2", String::new(), 3),
        ("/skip_all", String::new(), 0),
        ("/resetcursor", r#""earliest""#.to_owned(), 5),
        ("/expireMessages/0", String::new(), 0),
    ] {
        let moved = world.post(&format!("{s}{path}"), &body).await;
        assert_eq!(moved.status, 204, "{path} {body}: {}", moved.text());
        assert_eq!(backlog(&world, "t").await, json!(left), "{path} {body}");
    }
    world.post(&format!("{s}/resetcursor/0"), "").await;
    assert_eq!(world.post(&format!("{P}/t/all_subscription/expireMessages/0"), "").await.status, 204);
    assert_eq!(backlog(&world, "t").await, json!(0));

    for (path, status) in
        [("resetcursor/x", 400), ("resetcursor", 400), ("skip/-1", 412), ("skip/x", 400), ("expireMessages/x", 400)]
    {
        assert_eq!(world.post(&format!("{s}/{path}"), "").await.status, status, "{path}");
    }
    for path in ["resetcursor/0", "skip/1", "skip_all", "expireMessages/1"] {
        let absent = world.post(&format!("{P}/t/subscription/none/{path}"), "").await;
        assert_eq!(
            (absent.status, absent.reason().as_str()),
            (404, "Subscription none not found for topic persistent://public/default/t"),
            "{path}"
        );
        assert_eq!(world.post(&format!("{P}/nope/subscription/s/{path}"), "").await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_subscription_goes_on_within_a_batch() {
    let world = World::start().await;
    let mut client = Client::connect(&world).await;
    client.produce("persistent://public/default/t").await;
    client.publish(b"three in one", Some(3)).await;
    let s = format!("{P}/t/subscription/s");
    world.put(&s, r#""earliest""#).await;
    let ledger = world.get(&format!("{P}/t/lastMessageId")).await.json()["ledgerId"].clone();
    let reset = async |batch: i64, excluded: bool| {
        let id = json!({"ledgerId": ledger, "entryId": 0, "batchIndex": batch, "isExcluded": excluded});
        let moved = world.post(&format!("{s}/resetcursor"), &id.to_string()).await;
        assert_eq!(moved.status, 204, "{}", moved.text());
        backlog(&world, "t").await
    };
    assert_eq!(reset(1, false).await, json!(1));
    assert_eq!(reset(2, true).await, json!(0));
    assert_eq!(reset(1, true).await, json!(1));
}

#[tokio::test]
async fn a_subscription_of_all_partitions_is_one() {
    let world = World::start().await;
    world.put(&format!("{P}/p/partitions"), "2").await;
    let s = format!("{P}/p/subscription/s");
    assert_eq!(world.put(&s, r#""earliest""#).await.status, 204);
    assert_eq!(world.get(&format!("{P}/p/subscriptions")).await.json(), json!(["s"]));
    assert_eq!(world.post(&format!("{s}/resetcursor/0"), "").await.status, 204);
    assert_eq!(world.post(&format!("{s}/skip_all"), "").await.status, 204);
    assert_eq!(world.post(&format!("{s}/skip/1"), "").await.status, 405);
    assert_eq!(world.post(&format!("{s}/expireMessages/1"), "").await.status, 204);
    assert_eq!(world.post(&format!("{s}/resetcursor"), r#"{"ledgerId":1,"entryId":1}"#).await.status, 405);
    assert_eq!(world.delete(&s).await.status, 204);
    assert_eq!(world.delete(&s).await.status, 404);
}
