//! Requests that no client should send.

use crate::world::World;

const TEMPLATES: [&str; 34] = [
    "/admin/v2/clusters/X",
    "/admin/v2/clusters/X/peers",
    "/admin/v2/clusters/standalone/failureDomains/X",
    "/admin/v2/clusters/standalone/namespaceIsolationPolicies/X",
    "/admin/v2/clusters/standalone/namespaceIsolationPolicies/brokers/X",
    "/admin/v2/tenants/X",
    "/admin/v2/namespaces/X",
    "/admin/v2/namespaces/public/X",
    "/admin/v2/namespaces/public/default/X",
    "/admin/v2/namespaces/public/default/permissions/X",
    "/admin/v2/namespaces/public/default/property/X/X",
    "/admin/v2/namespaces/public/default/X/unload",
    "/admin/v2/namespaces/standalone/antiAffinity/X?tenant=X",
    "/admin/v2/persistent/public/X",
    "/admin/v2/persistent/public/default/X",
    "/admin/v2/persistent/public/default/X/partitions",
    "/admin/v2/persistent/public/default/X/stats",
    "/admin/v2/persistent/public/default/X/properties?key=X",
    "/admin/v2/persistent/public/default/X/maxProducers",
    "/admin/v2/persistent/public/default/X/subscriptions",
    "/admin/v2/persistent/public/default/t/X",
    "/admin/v2/persistent/public/default/t/subscription/X",
    "/admin/v2/persistent/public/default/t/subscription/s/resetcursor/X",
    "/admin/v2/persistent/public/default/t/subscription/s/skip/X",
    "/admin/v2/persistent/public/default/t/subscription/s/position/X",
    "/admin/v2/persistent/public/default/t/ledger/X/entry/X",
    "/admin/v2/persistent/public/default/t/messageid/X",
    "/admin/v2/non-persistent/public/default/X",
    "/admin/v2/schemas/public/default/X/schema",
    "/admin/v2/schemas/public/default/X/schema/X",
    "/admin/v2/brokers/configuration/X/X",
    "/admin/v2/resource-quotas/public/default/X",
    "/lookup/v2/topic/persistent/public/default/X?listenerName=X",
    "/lookup/v2/topic/X/X/X/X/bundle",
];

const FILLERS: [&str; 16] = [
    "%00",
    "%2F",
    "%2F%2F",
    "..",
    "%2E%2E%2Fetc",
    "%FF%FE",
    "%",
    "%zz",
    "%0D%0AX:%20y",
    "-1",
    "99999999999999999999999",
    "x-partition-4294967296",
    "-partition-0",
    "0xffffffff_0x00000000",
    "%F0%9F%92%A9",
    "persistent:%2F%2Fa%2Fb%2Fc",
];

const BODIES: [&str; 6] = ["", "null", "[]", "{}", "{\"ledgerId\":9223372036854775807,\"entryId\":-9}", "\"\\u0000\""];

/// Nothing that is sent makes the broker answer that it has failed itself, or end.
#[tokio::test]
async fn no_request_is_the_servers_fault() {
    let world = World::start().await;
    world.put("/admin/v2/persistent/public/default/t/subscription/s", "").await;
    for (index, template) in TEMPLATES.iter().enumerate() {
        for (offset, filler) in FILLERS.iter().enumerate() {
            let path = template.replace('X', filler);
            for (number, method) in ["GET", "PUT", "POST", "DELETE"].into_iter().enumerate() {
                // Each body with each filler would take long; each goes to each method and template.
                let body = BODIES[(index + offset + number) % BODIES.len()];
                let status = world.request(method, &path, Some(body)).await.status;
                let is_ours = status >= 500 && status != 501 && !(status == 503 && path.contains("listenerName"));
                assert!(!is_ours, "{method} {path} {body}: {status}");
            }
        }
    }
    let long = format!("/admin/v2/persistent/public/default/{}/stats", "x".repeat(5_000));
    assert_eq!(world.get(&long).await.status, 404);
    assert_eq!(world.get("/admin/v2/brokers/health").await.status, 200);
}
