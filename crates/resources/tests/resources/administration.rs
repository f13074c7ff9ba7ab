//! Clusters, tenants, namespaces, and what there is at the start.

use bytes::Bytes;
use futures::future::join_all;
use plerion_metadata::{Expect, PutOptions};
use plerion_resources::names::NamespaceName;
use plerion_resources::policies::{LocalPolicies, Policies, Retention};
use plerion_resources::{Bootstrap, BundlesData, ClusterData, Error, FailureDomain, Resources, TenantInfo};
use serde_json::{Value, json};

use crate::{empty, started};

fn namespace(name: &str) -> NamespaceName {
    name.parse().unwrap()
}

fn urls(web: &str) -> ClusterData {
    ClusterData { service_url: Some(web.to_owned()), ..ClusterData::default() }
}

async fn tenant(resources: &Resources, name: &str) {
    resources.tenants().create(name, &TenantInfo::default()).await.unwrap();
}

#[tokio::test]
async fn a_first_start_makes_what_clients_expect() {
    let (store, resources) = empty();
    Bootstrap::new("standalone", urls("http://localhost:8080")).run(&resources).await.unwrap();
    assert_eq!(resources.clusters().list().await.unwrap(), ["standalone"]);
    assert_eq!(resources.tenants().list().await.unwrap(), ["public", "pulsar"]);
    assert_eq!(resources.tenants().get("public").await.unwrap().allowed_clusters, ["standalone"]);
    assert_eq!(resources.namespaces().list("public").await.unwrap(), ["default"]);
    assert_eq!(resources.namespaces().list("pulsar").await.unwrap(), ["system"]);
    let policies = resources.namespaces().policies(&namespace("public/default")).await.unwrap();
    assert_eq!(policies.replication_clusters, ["standalone"]);
    let four = ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"];
    assert_eq!(policies.bundles.unwrap().boundaries, four);
    let local = store.get("/admin/local-policies/pulsar/system").await.unwrap().unwrap();
    let local: LocalPolicies = serde_json::from_slice(&local.value).unwrap();
    assert_eq!(local.bundles.boundaries, four);
}

#[tokio::test]
async fn later_starts_change_nothing_but_urls() {
    let (store, resources) = empty();
    Bootstrap::new("standalone", urls("http://old:8080")).run(&resources).await.unwrap();
    let public = namespace("public/default");
    let retention = Retention { time_minutes: 5, size_mb: 10 };
    let set = |policies: &mut Policies| {
        policies.retention_policies = Some(retention);
        Ok(())
    };
    resources.namespaces().update(&public, set).await.unwrap();
    let peers = |data: &mut ClusterData| {
        data.peer_cluster_names = Some(vec!["west".to_owned()]);
        Ok(())
    };
    resources.clusters().update("standalone", peers).await.unwrap();
    let before = store.scan("/admin/policies", None, 100).await.unwrap();

    let bootstrap = Bootstrap::new("standalone", urls("http://new:8080"));
    let starts = join_all((0..4).map(|_| bootstrap.run(&resources))).await;
    assert!(starts.iter().all(Result::is_ok));
    assert_eq!(store.scan("/admin/policies", None, 100).await.unwrap(), before);
    let cluster = resources.clusters().get("standalone").await.unwrap();
    assert_eq!(cluster.service_url.as_deref(), Some("http://new:8080"));
    assert_eq!(cluster.peer_cluster_names.unwrap(), ["west"]);
}

#[tokio::test]
async fn tenants_live_and_die() {
    let (_, resources) = empty();
    let tenants = resources.tenants();
    let info = TenantInfo { admin_roles: vec!["root".to_owned()], ..TenantInfo::default() };
    tenants.create("acme", &info).await.unwrap();
    let exists = tenants.create("acme", &info).await.unwrap_err();
    assert_eq!(exists, Error::AlreadyExists { what: "tenant acme".to_owned() });
    let role = |info: &mut TenantInfo| {
        info.admin_roles.push("other".to_owned());
        Ok(())
    };
    assert_eq!(tenants.update("acme", role).await.unwrap().admin_roles, ["root", "other"]);
    assert_eq!(tenants.get("acme").await.unwrap().admin_roles, ["root", "other"]);

    resources.namespaces().create(&namespace("acme/ns"), Policies::default()).await.unwrap();
    let holds = "namespaces";
    assert_eq!(tenants.delete("acme").await.unwrap_err(), Error::NotEmpty { what: "tenant acme".to_owned(), holds });
    resources.namespaces().delete(&namespace("acme/ns")).await.unwrap();
    tenants.delete("acme").await.unwrap();
    let missing = Error::NotFound { what: "tenant acme".to_owned() };
    assert_eq!(tenants.delete("acme").await.unwrap_err(), missing);
    assert_eq!(tenants.get("acme").await.unwrap_err(), missing);
    assert_eq!(tenants.update("acme", |_| Ok(())).await.unwrap_err(), missing);
}

#[tokio::test]
async fn bad_names_are_invalid() {
    let (_, resources) = empty();
    for name in ["", "a b", "a/b", ".."] {
        assert!(matches!(resources.tenants().get(name).await, Err(Error::Invalid { .. })), "{name:?}");
        assert!(matches!(resources.clusters().exists(name).await, Err(Error::Invalid { .. })), "{name:?}");
    }
}

#[tokio::test]
async fn namespaces_need_a_tenant_and_take_bundles_as_given() {
    let (_, resources) = empty();
    let namespaces = resources.namespaces();
    let acme = namespace("acme/ns");
    assert_eq!(
        namespaces.create(&acme, Policies::default()).await.unwrap_err(),
        Error::NotFound { what: "tenant acme".to_owned() }
    );
    tenant(&resources, "acme").await;
    for (name, request, boundaries) in [
        ("one", json!({"max_producers_per_topic": 10}), json!(["0x00000000", "0xffffffff"])),
        ("two", json!({"bundles": {"numBundles": 2}}), json!(["0x00000000", "0x80000000", "0xffffffff"])),
        (
            "given",
            json!({"bundles": {"boundaries": ["0xffffffff", "0x10", "0x0"]}}),
            json!(["0x00000000", "0x00000010", "0xffffffff"]),
        ),
    ] {
        let name = NamespaceName::new("acme", name).unwrap();
        namespaces.create(&name, serde_json::from_value(request).unwrap()).await.unwrap();
        assert_eq!(json!(namespaces.bundles(&name).await.unwrap().value.boundaries), boundaries);
    }
    let half = json!({"bundles": {"boundaries": ["0x00000000", "0x80000000"]}});
    let refused = namespaces.create(&acme, serde_json::from_value(half).unwrap()).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })));
    assert!(!namespaces.exists(&acme).await.unwrap());
    assert_eq!(namespaces.list("acme").await.unwrap(), ["given", "one", "two"]);
    assert_eq!(namespaces.list("nobody").await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn bundles_are_replaced_by_who_knows_them() {
    let (_, resources) = started().await;
    let namespaces = resources.namespaces();
    let public = namespace("public/default");
    let four = namespaces.bundles(&public).await.unwrap();
    let eight = BundlesData::equal(8).unwrap();
    namespaces.replace_bundles(&public, eight.clone(), four.version).await.unwrap();
    let stale = namespaces.replace_bundles(&public, BundlesData::equal(2).unwrap(), four.version).await.unwrap_err();
    assert!(matches!(stale, Error::Conflict { .. }) && stale.is_retryable());
    assert_eq!(namespaces.bundles(&public).await.unwrap().value, eight);
    // The number at creation stays what it was.
    assert_eq!(namespaces.policies(&public).await.unwrap().bundles.unwrap().num_bundles, 4);

    let group = |local: &mut LocalPolicies| {
        local.namespace_anti_affinity_group = Some("g".to_owned());
        Ok(())
    };
    assert_eq!(namespaces.update_local_policies(&public, group).await.unwrap().bundles, eight);
}

#[tokio::test]
async fn concurrent_updates_are_all_kept() {
    let (_, resources) = started().await;
    let public = namespace("public/default");
    let updates = (0..20).map(|at| {
        let (resources, public) = (resources.clone(), public.clone());
        tokio::spawn(async move {
            let add = |policies: &mut Policies| {
                policies.properties.insert(format!("{at}"), String::new());
                Ok(())
            };
            resources.namespaces().update(&public, add).await.unwrap();
        })
    });
    for update in join_all(updates).await {
        update.unwrap();
    }
    assert_eq!(resources.namespaces().policies(&public).await.unwrap().properties.len(), 20);
}

#[tokio::test]
async fn a_refused_change_changes_nothing() {
    let (_, resources) = started().await;
    let public = namespace("public/default");
    let before = resources.namespaces().policies(&public).await.unwrap();
    let refuse = |policies: &mut Policies| {
        policies.deleted = true;
        Err(Error::Invalid { why: "no".to_owned() })
    };
    assert_eq!(
        resources.namespaces().update(&public, refuse).await.unwrap_err(),
        Error::Invalid { why: "no".to_owned() }
    );
    assert_eq!(resources.namespaces().policies(&public).await.unwrap(), before);
}

#[tokio::test]
async fn clusters_have_domains_and_isolation_policies() {
    let (store, resources) = started().await;
    let clusters = resources.clusters();
    let domain = FailureDomain { brokers: vec!["b1:8080".to_owned()] };
    clusters.set_failure_domain("standalone", "rack-1", &domain).await.unwrap();
    clusters.set_failure_domain("standalone", "rack-1", &domain).await.unwrap();
    assert_eq!(clusters.failure_domains("standalone").await.unwrap(), ["rack-1"]);
    assert_eq!(clusters.failure_domain("standalone", "rack-1").await.unwrap(), domain);

    let policy = json!({"namespaces": ["t/.*"], "primary": ["b1.*"], "secondary": []});
    let add = |policies: &mut std::collections::BTreeMap<String, Value>| {
        policies.insert("p".to_owned(), policy.clone());
        Ok(())
    };
    clusters.update_isolation_policies("standalone", add).await.unwrap();
    assert_eq!(clusters.isolation_policies("standalone").await.unwrap()["p"], policy);
    assert_eq!(clusters.list().await.unwrap(), ["standalone"]);

    clusters.delete("standalone").await.unwrap();
    assert_eq!(store.scan("/admin/clusters", None, 10).await.unwrap(), []);
    assert!(matches!(clusters.delete("standalone").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_stored_row_that_is_no_json_is_an_error() {
    let (store, resources) = empty();
    let garbage = Bytes::from_static(b"{");
    store.put("/admin/policies/t", garbage, Expect::Any, PutOptions::PERSISTENT).await.unwrap();
    let error = resources.tenants().get("t").await.unwrap_err();
    assert!(matches!(&error, Error::Corrupt { what, .. } if what == "tenant t"), "{error}");
    assert!(!error.is_retryable());
}
