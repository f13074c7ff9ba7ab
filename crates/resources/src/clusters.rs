//! Clusters: how clients and other clusters reach them.

use std::collections::BTreeMap;

use plerion_metadata::SharedMetadataStore;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::null_is_default;
use crate::names::check_entity;
use crate::rows::Row;
use crate::{Error, Result};

const ROOT: &str = "/admin/clusters";

/// How a cluster is reached. Keys that are not named here are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterData {
    /// URL of the admin service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_url: Option<String>,
    /// URL of the admin service over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_url_tls: Option<String>,
    /// URL of the brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_service_url: Option<String>,
    /// URL of the brokers over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_service_url_tls: Option<String>,
    /// Clusters that may stand in for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_cluster_names: Option<Vec<String>>,
    /// Every other key.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Brokers that fail together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FailureDomain {
    /// The brokers, as `host:port` of their admin service.
    #[serde(default, deserialize_with = "null_is_default")]
    pub brokers: Vec<String>,
}

/// The clusters.
#[derive(Clone)]
pub struct Clusters {
    store: SharedMetadataStore,
}

impl Clusters {
    pub(crate) fn new(store: SharedMetadataStore) -> Self {
        Self { store }
    }

    /// All names, sorted.
    pub async fn list(&self) -> Result<Vec<String>> {
        Row::new(&self.store, ROOT.to_owned(), "clusters".to_owned()).children().await
    }

    /// Whether the cluster is known.
    pub async fn exists(&self, cluster: &str) -> Result<bool> {
        self.row(cluster)?.exists().await
    }

    /// How the cluster is reached.
    pub async fn get(&self, cluster: &str) -> Result<ClusterData> {
        Ok(self.row(cluster)?.get().await?.value)
    }

    /// Adds a cluster.
    pub async fn create(&self, cluster: &str, data: &ClusterData) -> Result<()> {
        self.row(cluster)?.create(data).await
    }

    /// Changes a cluster; `change` may run several times.
    pub async fn update(
        &self,
        cluster: &str,
        change: impl FnMut(&mut ClusterData) -> Result<()>,
    ) -> Result<ClusterData> {
        self.row(cluster)?.update(change).await
    }

    /// Changes a cluster, or an empty one if it doesn't exist.
    pub async fn upsert(&self, cluster: &str, mut change: impl FnMut(&mut ClusterData)) -> Result<ClusterData> {
        let decide = |current: Option<ClusterData>| {
            let mut data = current.unwrap_or_default();
            change(&mut data);
            Ok(data)
        };
        self.row(cluster)?.upsert(decide).await
    }

    /// Forgets a cluster with its failure domains and isolation policies.
    pub async fn delete(&self, cluster: &str) -> Result<()> {
        let row = self.row(cluster)?;
        if !row.exists().await? {
            return Err(Error::not_found(format!("cluster {cluster}")));
        }
        row.delete_tree().await
    }

    /// The names of a cluster's failure domains, sorted.
    pub async fn failure_domains(&self, cluster: &str) -> Result<Vec<String>> {
        check_entity(cluster)?;
        let path = format!("{ROOT}/{cluster}/failureDomain");
        Row::new(&self.store, path, format!("failure domains of cluster {cluster}")).children().await
    }

    /// One failure domain.
    pub async fn failure_domain(&self, cluster: &str, domain: &str) -> Result<FailureDomain> {
        Ok(self.domain_row(cluster, domain)?.get().await?.value)
    }

    /// Creates or replaces a failure domain.
    pub async fn set_failure_domain(&self, cluster: &str, domain: &str, data: &FailureDomain) -> Result<()> {
        self.domain_row(cluster, domain)?.upsert(|_| Ok(data.clone())).await.map(drop)
    }

    /// Deletes a failure domain.
    pub async fn delete_failure_domain(&self, cluster: &str, domain: &str) -> Result<()> {
        self.domain_row(cluster, domain)?.delete().await
    }

    /// The namespace isolation policies of a cluster by name, as their JSON.
    pub async fn isolation_policies(&self, cluster: &str) -> Result<BTreeMap<String, Value>> {
        Ok(self.isolation_row(cluster)?.find().await?.map(|found| found.value).unwrap_or_default())
    }

    /// Changes the namespace isolation policies of a cluster.
    pub async fn update_isolation_policies(
        &self,
        cluster: &str,
        mut change: impl FnMut(&mut BTreeMap<String, Value>) -> Result<()>,
    ) -> Result<()> {
        let decide = |current: Option<BTreeMap<String, Value>>| {
            let mut policies = current.unwrap_or_default();
            change(&mut policies)?;
            Ok(policies)
        };
        self.isolation_row(cluster)?.upsert(decide).await.map(drop)
    }

    fn row(&self, cluster: &str) -> Result<Row<'_>> {
        check_entity(cluster)?;
        Ok(Row::new(&self.store, format!("{ROOT}/{cluster}"), format!("cluster {cluster}")))
    }

    fn domain_row(&self, cluster: &str, domain: &str) -> Result<Row<'_>> {
        check_entity(cluster)?;
        check_entity(domain)?;
        let path = format!("{ROOT}/{cluster}/failureDomain/{domain}");
        Ok(Row::new(&self.store, path, format!("failure domain {domain} of cluster {cluster}")))
    }

    fn isolation_row(&self, cluster: &str) -> Result<Row<'_>> {
        check_entity(cluster)?;
        let path = format!("{ROOT}/{cluster}/namespaceIsolationPolicies");
        Ok(Row::new(&self.store, path, format!("namespace isolation policies of cluster {cluster}")))
    }
}
