use std::sync::Arc;

use plerion_broker::AllowAll;
use serde_json::{Value, json};

use crate::world::World;

const N: &str = "/admin/v2/namespaces";

#[tokio::test]
async fn a_namespace_is_made_from_every_form_of_body() {
    let world = World::start().await;
    let bundles = |of: &str| {
        let path = format!("{N}/public/{of}/bundles");
        let world = &world;
        async move { world.get(&path).await.json()["numBundles"].clone() }
    };
    for (name, body, count) in [
        ("empty", "", 4),
        ("null", "null", 4),
        (
            "policies",
            r#"{"auth_policies":{"namespace_auth":{"anonymous":["produce","consume"]}},
                "replication_clusters":["standalone"]}"#,
            4,
        ),
        ("few", r#"{"max_producers_per_topic":10}"#, 4),
        ("encrypted", r#"{"replication_clusters":["standalone"],"encryption_required":true}"#, 4),
        ("bundles", r#"{"boundaries":[],"numBundles":16}"#, 16),
        ("cut", r#"{"boundaries":["0x00000000","0x80000000","0xffffffff"],"numBundles":2}"#, 2),
        (
            "quota",
            r#"{"backlog_quota_map":{"message_age":{"limit":"7","limitSize":7,"policy":"producer_exception"}}}"#,
            4,
        ),
    ] {
        let made = world.put(&format!("{N}/public/{name}"), body).await;
        assert_eq!(made.status, 204, "{name}: {}", made.text());
        assert_eq!(bundles(name).await, json!(count), "{name}");
    }
    let query = world.put(&format!("{N}/public/query?bundles=1"), "").await;
    assert_eq!((query.status, bundles("query").await), (204, json!(1)));

    let shown = world.get(&format!("{N}/public/policies")).await.json();
    assert_eq!(shown["auth_policies"]["namespace_auth"], json!({"anonymous": ["produce", "consume"]}));
    assert_eq!(shown["replication_clusters"], json!(["standalone"]));
    assert_eq!(shown["bundles"]["numBundles"], json!(4));
    assert_eq!(shown["backlog_quota_map"], json!({}));
    assert_eq!(shown["deleted"], json!(false));
    assert_eq!(world.get(&format!("{N}/public/few")).await.json()["max_producers_per_topic"], json!(10));
    assert_eq!(world.get(&format!("{N}/public/encrypted")).await.json()["encryption_required"], json!(true));
    let quotas = world.get(&format!("{N}/public/quota/backlogQuotaMap")).await.json();
    assert_eq!(quotas["message_age"]["limitSize"], json!(7));
}

#[tokio::test]
async fn what_cannot_be_a_namespace_is_refused() {
    let world = World::start().await;
    for (path, body, status) in [
        ("public/default", "", 409),
        ("nobody/n", "", 404),
        ("public/n@x", "", 412),
        ("public/n", "{nope", 400),
        ("public/n", r#"{"replication_clusters":["nope"]}"#, 412),
        ("public/n", r#"{"max_producers_per_topic":"many"}"#, 400),
        ("public/n", r#"{"boundaries":["0x00000000","0x80000000"],"numBundles":1}"#, 412),
        ("public/n?bundles=x", "", 400),
    ] {
        let refused = world.put(&format!("{N}/{path}"), body).await;
        assert_eq!(refused.status, status, "{path} {body}: {}", refused.text());
        assert!(!refused.reason().is_empty());
    }
    assert_eq!(world.get(&format!("{N}/nobody")).await.status, 404);
    for part in
        ["", "/bundles", "/topics", "/permissions", "/messageTTL", "/properties", "/replication", "/backlogQuotaMap"]
    {
        let absent = world.get(&format!("{N}/public/none{part}")).await;
        assert_eq!((absent.status, absent.reason().as_str()), (404, "Namespace does not exist"), "{part}");
    }
}

#[tokio::test]
async fn only_an_empty_namespace_is_deleted() {
    let world = World::start().await;
    world.put(&format!("{N}/public/n"), "").await;
    assert_eq!(world.get(&format!("{N}/public")).await.json(), json!(["public/default", "public/n"]));
    world.put("/admin/v2/persistent/public/n/t", "").await;
    let full = world.delete(&format!("{N}/public/n")).await;
    assert_eq!((full.status, full.reason().as_str()), (409, "Cannot delete non empty namespace"));
    assert_eq!(world.delete(&format!("{N}/public/n?force=true")).await.status, 405);
    assert_eq!(world.delete("/admin/v2/persistent/public/n/t").await.status, 204);
    assert_eq!(world.delete(&format!("{N}/public/n")).await.status, 204);
    assert_eq!(world.get(&format!("{N}/public/n")).await.status, 404);
    assert_eq!(world.delete(&format!("{N}/public/n")).await.status, 404);
    // It can be made again, and used.
    assert_eq!(world.put(&format!("{N}/public/n"), "").await.status, 204);
    assert_eq!(world.put("/admin/v2/persistent/public/n/t", "").await.status, 204);
}

#[tokio::test]
async fn a_namespace_goes_with_its_topics_where_that_is_allowed() {
    let world = World::with(&[("forceDeleteNamespaceAllowed", "true")], Arc::new(AllowAll)).await;
    world.put(&format!("{N}/public/n"), "").await;
    world.put("/admin/v2/persistent/public/n/t", "").await;
    world.put("/admin/v2/persistent/public/n/p/partitions", "2").await;
    world.put("/admin/v2/non-persistent/public/n/np", "").await;
    assert_eq!(world.delete(&format!("{N}/public/n?force=true")).await.status, 204);
    assert_eq!(world.get(&format!("{N}/public/n")).await.status, 404);
    world.put(&format!("{N}/public/n"), "").await;
    assert_eq!(world.get(&format!("{N}/public/n/topics?mode=ALL")).await.json(), json!([]));
}

#[tokio::test]
async fn topics_are_listed_by_mode() {
    let world = World::start().await;
    world.put("/admin/v2/persistent/public/default/t", "").await;
    world.put("/admin/v2/persistent/public/default/p/partitions", "2").await;
    world.put("/admin/v2/non-persistent/public/default/np", "").await;
    let kept = json!([
        "persistent://public/default/p-partition-0",
        "persistent://public/default/p-partition-1",
        "persistent://public/default/t",
    ]);
    let passing = json!(["non-persistent://public/default/np"]);
    let topics = format!("{N}/public/default/topics");
    assert_eq!(world.get(&topics).await.json(), kept);
    assert_eq!(world.get(&format!("{topics}?mode=PERSISTENT")).await.json(), kept);
    assert_eq!(world.get(&format!("{topics}?mode=NON_PERSISTENT")).await.json(), passing);
    let all = world.get(&format!("{topics}?mode=ALL")).await.json();
    assert_eq!(all.as_array().unwrap().len(), 4);
    assert_eq!(world.get(&format!("{topics}?mode=SOME")).await.status, 404);
}

#[tokio::test]
async fn a_deleted_namespace_leaves_no_rows() {
    let world = World::start().await;
    world.put(&format!("{N}/public/gone"), "").await;
    world.put(&format!("{N}/public/gone-not"), "").await;
    for namespace in ["gone", "gone-not"] {
        world.put(&format!("/admin/v2/persistent/public/{namespace}/t/subscription/s"), "").await;
    }
    let rows = world.rows("/").await;
    assert!(rows.iter().any(|row| row.starts_with("/plerion/bundles/public/gone/")), "{rows:?}");
    assert_eq!(world.delete("/admin/v2/persistent/public/gone/t?force=true").await.status, 204);
    assert_eq!(world.delete(&format!("{N}/public/gone")).await.status, 204);
    let rows = world.rows("/").await;
    let of = |name: &str| rows.iter().filter(|row| row.split('/').any(|part| part == name)).collect::<Vec<_>>();
    assert_eq!(of("gone"), Vec::<&String>::new());
    assert!(of("gone-not").iter().any(|row| row.starts_with("/plerion/bundles/")), "the others stay");
}

#[tokio::test]
async fn bundles_are_unloaded_one_by_one_or_all() {
    let world = World::start().await;
    let n = format!("{N}/public/default");
    world.put("/admin/v2/persistent/public/default/t", "").await;
    assert_eq!(world.put(&format!("{n}/unload"), "").await.status, 204);
    assert_eq!(world.get("/admin/v2/persistent/public/default/t/stats").await.status, 200);
    let bundles = world.get(&format!("{n}/bundles")).await.json();
    let boundaries: Vec<&str> = bundles["boundaries"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for pair in boundaries.windows(2) {
        let path = format!("{n}/{}_{}/unload", pair[0], pair[1]);
        assert_eq!(world.put(&path, "").await.status, 204, "{path}");
    }
    let (first, own) = ("0x00000000_0x40000000", format!("127.0.0.1:{}", world.http.port()));
    assert_eq!(world.put(&format!("{n}/{first}/unload?destinationBroker={own}"), "").await.status, 204);
    assert_eq!(world.put(&format!("{n}/{first}/unload?destinationBroker=other:8080"), "").await.status, 412);
    assert_eq!(world.put(&format!("{n}/0x00000000_0x50000000/unload"), "").await.status, 412);
    assert_eq!(world.put(&format!("{n}/bogus/unload"), "").await.status, 412);
    assert_eq!(world.put(&format!("{n}/{first}/split?unload=true"), "").await.status, 501);
    assert_eq!(world.delete(&format!("{n}/{first}")).await.status, 501);
    assert_eq!(world.put(&format!("{N}/public/none/unload"), "").await.status, 404);
}

#[tokio::test]
async fn permissions_are_granted_and_revoked() {
    let world = World::start().await;
    let p = format!("{N}/public/default/permissions");
    assert_eq!(world.get(&p).await.json(), json!({}));
    assert_eq!(world.post(&format!("{p}/me%40home"), r#"["produce","consume"]"#).await.status, 204);
    assert_eq!(world.post(&format!("{p}/me"), r#"["bogus"]"#).await.status, 400);
    assert_eq!(world.post(&format!("{p}/me"), "").await.status, 400);
    assert_eq!(world.get(&p).await.json(), json!({"me@home": ["produce", "consume"]}));
    assert_eq!(world.delete(&format!("{p}/me%40home")).await.status, 204);
    assert_eq!(world.delete(&format!("{p}/you")).await.status, 204);
    assert_eq!(world.get(&p).await.json(), json!({}));

    assert_eq!(world.post(&format!("{p}/subscription/s"), r#"["a","b"]"#).await.status, 204);
    assert_eq!(world.get(&format!("{p}/subscription")).await.json(), json!({"s": ["a", "b"]}));
    assert_eq!(world.delete(&format!("{p}/s/a")).await.status, 204);
    assert_eq!(world.get(&format!("{p}/subscription")).await.json(), json!({"s": ["b"]}));
}

#[tokio::test]
async fn the_backlog_of_a_namespace_is_cleared() {
    let world = World::start().await;
    let mut client = crate::client::Client::connect(&world).await;
    world.put("/admin/v2/persistent/public/default/t/subscription/a", "").await;
    world.put("/admin/v2/persistent/public/default/t/subscription/b", "").await;
    client.produce("persistent://public/default/t").await;
    client.publish(b"x", None).await;
    let backlog = |stats: &Value, name: &str| stats["subscriptions"][name]["msgBacklog"].clone();
    assert_eq!(world.post(&format!("{N}/public/default/clearBacklog/a"), "").await.status, 204);
    let stats = world.get("/admin/v2/persistent/public/default/t/stats").await.json();
    assert_eq!((backlog(&stats, "a"), backlog(&stats, "b")), (json!(0), json!(1)));
    assert_eq!(world.post(&format!("{N}/public/default/clearBacklog"), "").await.status, 204);
    let stats = world.get("/admin/v2/persistent/public/default/t/stats").await.json();
    assert_eq!(backlog(&stats, "b"), json!(0));
    assert_eq!(world.post(&format!("{N}/public/default/unsubscribe/a"), "").await.status, 204);
    assert_eq!(world.get("/admin/v2/persistent/public/default/t/subscriptions").await.json(), json!(["b"]));
}
