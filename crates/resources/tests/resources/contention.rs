//! Many who want the same row at once, in a store that shows a write only when it is on disk.

use std::sync::Arc;

use futures::future::{join_all, try_join_all};
use plerion_metadata::{EmbeddedOptions, EmbeddedStore, SharedMetadataStore};
use plerion_resources::names::NamespaceName;
use plerion_resources::policies::Policies;
use plerion_resources::{Bootstrap, ClusterData, Error, Resources, TenantInfo};
use tempfile::TempDir;

async fn on_disk() -> (TempDir, Resources) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(&dir.path().join("metadata"), &EmbeddedOptions::default()).unwrap();
    let store: SharedMetadataStore = Arc::new(store);
    let resources = Resources::new(&store);
    Bootstrap::new("standalone", ClusterData::default()).run(&resources).await.unwrap();
    (dir, resources)
}

#[tokio::test]
async fn first_users_of_a_namespace_all_find_its_local_policies() {
    let (_dir, resources) = on_disk().await;
    let namespaces = resources.namespaces();
    for round in 0..5 {
        let name = NamespaceName::new("public", &format!("ns-{round}")).unwrap();
        namespaces.create(&name, Policies::default()).await.unwrap();
        let found = try_join_all((0..8).map(|_| namespaces.local_policies(&name))).await.unwrap();
        assert!(found.iter().all(|policies| *policies == found[0]));
    }
}

#[tokio::test]
async fn changes_at_once_are_all_kept() {
    let (_dir, resources) = on_disk().await;
    let tenants = resources.tenants();
    tenants.create("t", &TenantInfo::default()).await.unwrap();
    let add = |number: usize| {
        tenants.update("t", move |info| {
            info.admin_roles.push(format!("role-{number}"));
            Ok(())
        })
    };
    try_join_all((0..16).map(add)).await.unwrap();
    assert_eq!(tenants.get("t").await.unwrap().admin_roles.len(), 16);
}

#[tokio::test]
async fn who_is_refused_finds_what_it_was_refused_for() {
    let (_dir, resources) = on_disk().await;
    let tenants = resources.tenants();
    let info = TenantInfo::default();
    let create = || async {
        let outcome = tenants.create("t", &info).await;
        assert!(tenants.exists("t").await.unwrap());
        outcome
    };
    let outcomes = join_all((0..4).map(|_| create())).await;
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::AlreadyExists { .. })));
    assert_eq!(refused.count(), 3);
}
