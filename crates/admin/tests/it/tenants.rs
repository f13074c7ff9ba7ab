use std::sync::Arc;

use plerion_broker::AllowAll;
use serde_json::json;

use crate::world::World;

const T: &str = "/admin/v2/tenants";
const INFO: &str = r#"{"adminRoles":["me"],"allowedClusters":["standalone"]}"#;

#[tokio::test]
async fn tenants_are_made_changed_and_deleted() {
    let world = World::start().await;
    assert_eq!(world.get(T).await.json(), json!(["public", "pulsar"]));
    assert_eq!(world.put(&format!("{T}/t"), INFO).await.status, 204);
    assert_eq!(
        world.get(&format!("{T}/t")).await.json(),
        json!({"adminRoles": ["me"], "allowedClusters": ["standalone"]})
    );
    let again = world.put(&format!("{T}/t"), INFO).await;
    assert_eq!((again.status, again.reason().as_str()), (409, "Tenant already exist"));
    assert_eq!(
        world.post(&format!("{T}/t"), r#"{"adminRoles":[],"allowedClusters":["standalone"]}"#).await.status,
        204
    );
    assert_eq!(world.get(&format!("{T}/t")).await.json()["adminRoles"], json!([]));

    assert_eq!(world.put("/admin/v2/namespaces/t/n", "").await.status, 204);
    let full = world.delete(&format!("{T}/t")).await;
    assert_eq!((full.status, full.reason().as_str()), (409, "The tenant still has active namespaces"));
    assert_eq!(world.delete("/admin/v2/namespaces/t/n").await.status, 204);
    assert_eq!(world.delete(&format!("{T}/t")).await.status, 204);
    assert_eq!(world.get(&format!("{T}/t")).await.status, 404);
    assert_eq!(world.post(&format!("{T}/t"), INFO).await.status, 404);
}

#[tokio::test]
async fn what_a_tenant_says_is_checked() {
    let world = World::start().await;
    for (body, status) in [
        (r#"{"adminRoles":[],"allowedClusters":["nope"]}"#, 412),
        (r#"{"adminRoles":[],"allowedClusters":[]}"#, 412),
        ("{nope", 400),
        ("[]", 400),
    ] {
        let refused = world.put(&format!("{T}/t"), body).await;
        assert_eq!(refused.status, status, "{body}");
        assert!(!refused.reason().is_empty());
    }
    assert_eq!(world.put(&format!("{T}/t%20x"), INFO).await.status, 412);
    assert_eq!(world.get(&format!("{T}/t")).await.status, 404);
}

#[tokio::test]
async fn a_tenant_goes_with_its_namespaces_only_where_that_is_allowed() {
    let world = World::start().await;
    world.put(&format!("{T}/t"), INFO).await;
    assert_eq!(world.delete(&format!("{T}/t?force=true")).await.status, 405);

    let settings = [("forceDeleteTenantAllowed", "true")];
    let world = World::with(&settings, Arc::new(AllowAll)).await;
    world.put(&format!("{T}/t"), INFO).await;
    world.put("/admin/v2/namespaces/t/n", "").await;
    world.put("/admin/v2/persistent/t/n/topic", "").await;
    assert_eq!(world.delete(&format!("{T}/t?force=true")).await.status, 204);
    assert_eq!(world.get(&format!("{T}/t")).await.status, 404);
    assert_eq!(world.get("/admin/v2/persistent/t/n/topic/stats").await.status, 404);
}
