use std::sync::Arc;

use parking_lot::Mutex;
use plerion_broker::{Authorizer, Operation, Role};

use crate::world::World;

/// Notes what is asked for, and refuses it.
#[derive(Default)]
struct Refuse(Mutex<Vec<String>>);

impl Authorizer for Refuse {
    fn allows(&self, _role: &Role, operation: &Operation<'_>) -> bool {
        self.0.lock().push(format!("{operation:?}"));
        false
    }
}

#[tokio::test]
async fn everything_but_being_alive_needs_a_permission() {
    let refuse = Arc::new(Refuse::default());
    let world = World::with(&[], refuse.clone()).await;
    let topic = "/admin/v2/persistent/public/default/t";
    for (method, path, operation) in [
        ("GET", "/admin/v2/clusters", "ManageCluster"),
        ("DELETE", "/admin/v2/clusters/standalone", "ManageCluster"),
        ("GET", "/admin/v2/tenants", "ManageCluster"),
        ("PUT", "/admin/v2/tenants/public", "ManageTenant(\"public\")"),
        ("GET", "/admin/v2/namespaces/public", "ManageTenant(\"public\")"),
        ("PUT", "/admin/v2/namespaces/public/n", "ManageNamespace(public/n)"),
        ("POST", "/admin/v2/namespaces/public/n/messageTTL", "ManageNamespace(public/n)"),
        ("GET", "/admin/v2/namespaces/public/default/topics", "ListTopics(public/default)"),
        ("PUT", topic, "ManageTopic(persistent://public/default/t)"),
        ("PUT", &format!("{topic}/partitions"), "ManageTopic(persistent://public/default/t)"),
        ("GET", &format!("{topic}/partitions"), "Lookup(persistent://public/default/t)"),
        ("GET", &format!("{topic}/stats"), "ManageTopic(persistent://public/default/t)"),
        ("POST", &format!("{topic}/maxProducers"), "ManageTopic(persistent://public/default/t)"),
        ("GET", "/lookup/v2/topic/persistent/public/default/t", "Lookup(persistent://public/default/t)"),
        ("GET", "/admin/v2/schemas/public/default/t/schema", "Schema(persistent://public/default/t)"),
        ("POST", "/admin/v2/brokers/configuration/maxTenants/1", "ManageCluster"),
        ("GET", "/admin/v2/brokers", "ManageCluster"),
        ("GET", "/admin/v2/broker-stats/topics", "ManageCluster"),
        ("GET", "/admin/v2/resource-quotas", "ManageCluster"),
    ] {
        let refused = world.request(method, path, None).await;
        assert_eq!(refused.status, 401, "{method} {path}: {}", refused.text());
        assert!(refused.reason().starts_with("Client is not authorized"));
        assert_eq!(std::mem::take(&mut *refuse.0.lock()), [operation], "{method} {path}");
    }
    for path in ["/metrics", "/status.html", "/status.json", "/admin/v2/brokers/health", "/admin/v2/brokers/ready"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
}
