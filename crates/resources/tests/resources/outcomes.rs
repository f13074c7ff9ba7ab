//! Writes whose outcome is not known are read back before anything is decided on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use plerion_metadata::SharedMetadataStore;
use plerion_resources::schemas::{Added, Schema, SchemaType};
use plerion_resources::{Error, Resources, TenantInfo};

use crate::flaky::{Fault, FlakyStore};

fn flaky() -> (Arc<FlakyStore>, Resources) {
    let store = Arc::new(FlakyStore::default());
    let shared: SharedMetadataStore = Arc::clone(&store) as _;
    (store, Resources::new(&shared))
}

fn add_role(info: &mut TenantInfo) -> Result<(), Error> {
    info.admin_roles.push("role".to_owned());
    Ok(())
}

#[tokio::test]
async fn a_lost_response_is_not_written_twice() {
    let (store, resources) = flaky();
    store.fail_next(Fault::LostResponse);
    resources.tenants().create("t", &TenantInfo::default()).await.unwrap();
    store.fail_next(Fault::LostResponse);
    resources.tenants().update("t", add_role).await.unwrap();
    assert_eq!(resources.tenants().get("t").await.unwrap().admin_roles, ["role"]);
}

#[tokio::test]
async fn a_lost_request_is_written_again() {
    let (store, resources) = flaky();
    store.fail_next(Fault::LostRequest);
    resources.tenants().create("t", &TenantInfo::default()).await.unwrap();
    store.fail_next(Fault::LostRequest);
    resources.tenants().update("t", add_role).await.unwrap();
    assert_eq!(resources.tenants().get("t").await.unwrap().admin_roles, ["role"]);
}

#[tokio::test]
async fn a_change_on_top_of_ours_is_kept() {
    let (store, resources) = flaky();
    resources.tenants().create("t", &TenantInfo::default()).await.unwrap();
    store.fail_next(Fault::Overwritten);
    resources.tenants().update("t", add_role).await.unwrap();
    assert_eq!(resources.tenants().get("t").await.unwrap().admin_roles, ["thief", "role"]);
}

#[tokio::test]
async fn an_unavailable_store_can_be_asked_again() {
    let (store, resources) = flaky();
    store.fail_next(Fault::Unavailable);
    let error = resources.tenants().create("t", &TenantInfo::default()).await.unwrap_err();
    assert_eq!(error, Error::Unavailable { why: "down".to_owned() });
    assert!(error.is_retryable());
    resources.tenants().create("t", &TenantInfo::default()).await.unwrap();
}

#[tokio::test]
async fn a_schema_whose_outcome_is_lost_has_one_version() {
    let (store, resources) = flaky();
    let topic = "persistent://t/n/x".parse().unwrap();
    let schema = Schema {
        schema_type: SchemaType::String,
        data: Bytes::new(),
        properties: BTreeMap::new(),
        user: String::new(),
        timestamp_ms: 0,
    };
    for fault in [Fault::LostResponse, Fault::LostRequest] {
        store.fail_next(fault);
        let added = resources.schemas().add(&topic, &schema, |_| Ok(())).await.unwrap();
        assert_eq!(added.version(), 0);
    }
    assert_eq!(resources.schemas().add(&topic, &schema, |_| Ok(())).await.unwrap(), Added::Existing(0));
}
