//! What went wrong in other servers.

use serde_json::json;

use crate::world::World;

const P: &str = "/admin/v2/persistent/public/default";

/// A schema or policy of a topic in a bundle that nobody had loaded was redirected until the client gave up.
#[tokio::test]
async fn bug_pulsar_2712_an_unloaded_bundle_answers_without_redirects() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    world.put("/admin/v2/namespaces/public/default/unload", "").await;
    for (path, status) in [
        ("/admin/v2/schemas/public/default/t/schema".to_owned(), 404),
        (format!("{P}/t/maxProducers"), 200),
        (format!("{P}/t/subscriptions"), 200),
        (P.to_owned(), 200),
        ("/lookup/v2/topic/persistent/public/default/t".to_owned(), 200),
    ] {
        assert_eq!(world.get(&path).await.status, status, "{path}");
    }
}

/// A creation that was refused took away what was there under the name.
#[tokio::test]
async fn bug_nats_server_8491_a_refused_creation_leaves_what_is_there() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), r#"{"a":"b"}"#).await;
    world.put(&format!("{P}/t/subscription/s"), "").await;
    assert_eq!(world.put(&format!("{P}/t"), r#"{"c":"d"}"#).await.status, 409);
    assert_eq!(world.put(&format!("{P}/t/partitions"), "3").await.status, 409);
    assert_eq!(world.put(&format!("{P}/t/subscription/s"), r#""earliest""#).await.status, 409);
    assert_eq!(world.get(&format!("{P}/t/properties")).await.json(), json!({"a": "b"}));
    assert_eq!(world.get(&format!("{P}/t/subscriptions")).await.json(), json!(["s"]));

    world.put("/admin/v2/namespaces/public/default/messageTTL", "60").await;
    assert_eq!(world.put("/admin/v2/namespaces/public/default", "").await.status, 409);
    assert_eq!(world.get("/admin/v2/namespaces/public/default/messageTTL").await.json(), json!(60));
}
