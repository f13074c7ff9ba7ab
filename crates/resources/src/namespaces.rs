//! Namespaces: their policies and bundles.

use plerion_metadata::SharedMetadataStore;

use crate::names::NamespaceName;
use crate::policies::{LocalPolicies, Policies};
use crate::rows::{Row, Versioned};
use crate::{BundlesData, Error, Result, tenants, topics};

/// The namespaces.
#[derive(Clone)]
pub struct Namespaces {
    store: SharedMetadataStore,
}

impl Namespaces {
    pub(crate) fn new(store: SharedMetadataStore) -> Self {
        Self { store }
    }

    /// The names of a tenant's namespaces within it, sorted. An unknown tenant has none.
    pub async fn list(&self, tenant: &str) -> Result<Vec<String>> {
        crate::names::check_entity(tenant)?;
        let path = format!("{}/{tenant}", tenants::ROOT);
        Row::new(&self.store, path, format!("namespaces of tenant {tenant}")).children().await
    }

    /// Whether the namespace exists.
    pub async fn exists(&self, namespace: &NamespaceName) -> Result<bool> {
        self.row(namespace).exists().await
    }

    /// The policies of a namespace.
    pub async fn policies(&self, namespace: &NamespaceName) -> Result<Policies> {
        Ok(self.row(namespace).get().await?.value)
    }

    /// Creates a namespace of an existing tenant. Bundles that are given by number are made equal; without any there
    /// is one.
    pub async fn create(&self, namespace: &NamespaceName, mut policies: Policies) -> Result<()> {
        let tenant = namespace.tenant();
        let tenant_path = format!("{}/{tenant}", tenants::ROOT);
        if !Row::new(&self.store, tenant_path, format!("tenant {tenant}")).exists().await? {
            return Err(Error::not_found(format!("tenant {tenant}")));
        }
        let bundles = match &policies.bundles {
            Some(bundles) => bundles.normalized()?,
            None => BundlesData::equal(1)?,
        };
        policies.bundles = Some(bundles);
        self.row(namespace).create(&policies).await
    }

    /// Changes the policies of a namespace; `change` may run several times.
    pub async fn update(
        &self,
        namespace: &NamespaceName,
        change: impl FnMut(&mut Policies) -> Result<()>,
    ) -> Result<Policies> {
        self.row(namespace).update(change).await
    }

    /// Deletes a namespace with its bundles and what is set for its topics, partitioned ones included. That no topic has messages is for
    /// the caller to see to; [`Policies::deleted`] keeps new ones away meanwhile.
    pub async fn delete(&self, namespace: &NamespaceName) -> Result<()> {
        if !self.exists(namespace).await? {
            return Err(Error::not_found(format!("namespace {namespace}")));
        }
        for root in [topics::PARTITIONED_ROOT, topics::POLICIES_ROOT, topics::BUNDLES_ROOT, crate::schemas::ROOT] {
            let path = format!("{root}/{namespace}");
            Row::new(&self.store, path, format!("topics of namespace {namespace}")).delete_tree().await?;
        }
        self.local_row(namespace).delete_tree().await?;
        self.row(namespace).delete_tree().await
    }

    /// The local policies of a namespace, made of its policies when they are first asked for.
    pub async fn local_policies(&self, namespace: &NamespaceName) -> Result<Versioned<LocalPolicies>> {
        let row = self.local_row(namespace);
        if let Some(found) = row.find().await? {
            return Ok(found);
        }
        let bundles = match self.policies(namespace).await?.bundles {
            Some(bundles) => bundles,
            None => BundlesData::equal(1)?,
        };
        match row.create(&LocalPolicies::new(bundles)).await {
            Ok(()) | Err(Error::AlreadyExists { .. }) => row.get().await,
            Err(error) => Err(error),
        }
    }

    /// Changes the local policies of a namespace; `change` may run several times.
    pub async fn update_local_policies(
        &self,
        namespace: &NamespaceName,
        change: impl FnMut(&mut LocalPolicies) -> Result<()>,
    ) -> Result<LocalPolicies> {
        self.local_policies(namespace).await?;
        self.local_row(namespace).update(change).await
    }

    /// The bundles that routing goes by, with the version to give to [`Namespaces::replace_bundles`].
    pub async fn bundles(&self, namespace: &NamespaceName) -> Result<Versioned<BundlesData>> {
        let local = self.local_policies(namespace).await?;
        Ok(Versioned { value: local.value.bundles, version: local.version })
    }

    /// Replaces the bundles if the local policies are still at `version`, as a split does: [`Error::Conflict`] if not.
    pub async fn replace_bundles(&self, namespace: &NamespaceName, bundles: BundlesData, version: u64) -> Result<()> {
        let mut local = self.local_policies(namespace).await?;
        if local.version != version {
            return Err(Error::Conflict { what: format!("bundles of namespace {namespace}") });
        }
        local.value.bundles = bundles;
        self.local_row(namespace).replace(&local.value, version).await
    }

    fn row(&self, namespace: &NamespaceName) -> Row<'_> {
        Row::new(&self.store, format!("{}/{namespace}", tenants::ROOT), format!("namespace {namespace}"))
    }

    fn local_row(&self, namespace: &NamespaceName) -> Row<'_> {
        let path = format!("/admin/local-policies/{namespace}");
        Row::new(&self.store, path, format!("local policies of namespace {namespace}"))
    }
}
