//! Tenants: who may administer which namespaces, on which clusters.

use plerion_metadata::SharedMetadataStore;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::null_is_default;
use crate::names::check_entity;
use crate::rows::Row;
use crate::{Error, Result};

pub(crate) const ROOT: &str = "/admin/policies";

/// A tenant. Keys that are not named here are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantInfo {
    /// Roles that may administer the tenant.
    #[serde(default, deserialize_with = "null_is_default")]
    pub admin_roles: Vec<String>,
    /// Clusters its namespaces may live on.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allowed_clusters: Vec<String>,
    /// Every other key.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The tenants.
#[derive(Clone)]
pub struct Tenants {
    store: SharedMetadataStore,
}

impl Tenants {
    pub(crate) fn new(store: SharedMetadataStore) -> Self {
        Self { store }
    }

    /// All names, sorted.
    pub async fn list(&self) -> Result<Vec<String>> {
        Row::new(&self.store, ROOT.to_owned(), "tenants".to_owned()).children().await
    }

    /// Whether the tenant exists.
    pub async fn exists(&self, tenant: &str) -> Result<bool> {
        self.row(tenant)?.exists().await
    }

    /// The tenant.
    pub async fn get(&self, tenant: &str) -> Result<TenantInfo> {
        Ok(self.row(tenant)?.get().await?.value)
    }

    /// Creates a tenant.
    pub async fn create(&self, tenant: &str, info: &TenantInfo) -> Result<()> {
        self.row(tenant)?.create(info).await
    }

    /// Changes a tenant; `change` may run several times.
    pub async fn update(&self, tenant: &str, change: impl FnMut(&mut TenantInfo) -> Result<()>) -> Result<TenantInfo> {
        self.row(tenant)?.update(change).await
    }

    /// Deletes a tenant that has no namespaces.
    pub async fn delete(&self, tenant: &str) -> Result<()> {
        self.row(tenant)?.delete().await.map_err(|error| match error {
            Error::NotEmpty { what, .. } => Error::NotEmpty { what, holds: "namespaces" },
            error => error,
        })
    }

    fn row(&self, tenant: &str) -> Result<Row<'_>> {
        check_entity(tenant)?;
        Ok(Row::new(&self.store, format!("{ROOT}/{tenant}"), format!("tenant {tenant}")))
    }
}
