//! What a cluster has before its first user comes.

use crate::names::NamespaceName;
use crate::policies::Policies;
use crate::{BundlesData, ClusterData, Error, Resources, Result, TenantInfo};

/// Who may administer the first tenants, and into how many bundles the first namespaces are cut.
#[derive(Debug, Clone)]
pub struct Bootstrap {
    /// The cluster's name; `standalone` where there is only one broker.
    pub cluster: String,
    /// How it is reached; keys that are `None` stay as they are stored.
    pub urls: ClusterData,
    /// Roles that may administer the tenants.
    pub admin_roles: Vec<String>,
    /// Bundles of each namespace.
    pub bundles: u32,
}

impl Bootstrap {
    /// The defaults for a cluster of this name.
    pub fn new(cluster: &str, urls: ClusterData) -> Self {
        Self { cluster: cluster.to_owned(), urls, admin_roles: Vec::new(), bundles: 4 }
    }

    /// Creates the cluster, the tenants `public` and `pulsar`, and their namespaces `public/default` and
    /// `pulsar/system`. What exists stays as it is, except for the cluster's URLs, which follow the configuration. May
    /// run at every start, and at the same time on several brokers.
    pub async fn run(&self, resources: &Resources) -> Result<()> {
        resources.clusters().upsert(&self.cluster, |data| data.take_urls(&self.urls)).await?;
        for name in [NamespaceName::DEFAULT, NamespaceName::SYSTEM] {
            let namespace: NamespaceName = name.parse()?;
            let tenant = TenantInfo {
                admin_roles: self.admin_roles.clone(),
                allowed_clusters: vec![self.cluster.clone()],
                ..TenantInfo::default()
            };
            if_absent(resources.tenants().create(namespace.tenant(), &tenant).await)?;
            let policies = Policies {
                replication_clusters: vec![self.cluster.clone()],
                bundles: Some(BundlesData::equal(self.bundles)?),
                ..Policies::default()
            };
            if_absent(resources.namespaces().create(&namespace, policies).await)?;
            resources.namespaces().local_policies(&namespace).await?;
        }
        Ok(())
    }
}

fn if_absent(created: Result<()>) -> Result<()> {
    match created {
        Err(Error::AlreadyExists { .. }) => Ok(()),
        outcome => outcome,
    }
}

impl ClusterData {
    fn take_urls(&mut self, urls: &Self) {
        for (stored, given) in [
            (&mut self.service_url, &urls.service_url),
            (&mut self.service_url_tls, &urls.service_url_tls),
            (&mut self.broker_service_url, &urls.broker_service_url),
            (&mut self.broker_service_url_tls, &urls.broker_service_url_tls),
        ] {
            if given.is_some() {
                stored.clone_from(given);
            }
        }
    }
}
