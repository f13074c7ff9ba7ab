//! What a cluster keeps about clusters, tenants, namespaces, topics and schemas: typed rows of a metadata store, at the
//! paths and in the JSON that Pulsar uses.
//!
//! Every change is a compare-and-set that is decided anew when somebody else was faster, and an unknown outcome is read
//! back. Nothing is cached: what is returned is what was stored when it was asked for. What the crate does not know is
//! who may ask, and what a policy means.

mod bootstrap;
mod bundles;
mod clusters;
mod error;
mod json;
pub mod names;
mod namespaces;
pub mod policies;
mod rows;
pub mod schemas;
mod tenants;
pub mod topic_list;
mod topics;

pub use bootstrap::Bootstrap;
pub use bundles::BundlesData;
pub use clusters::{ClusterData, Clusters, FailureDomain};
pub use error::{Error, Result};
pub use namespaces::Namespaces;
use plerion_metadata::SharedMetadataStore;
pub use rows::Versioned;
use schemas::Schemas;
pub use tenants::{TenantInfo, Tenants};
pub use topics::{BUNDLES_ROOT, LOGS_ROOT, PartitionedTopic, TopicPolicies, Topics};

/// All resources of one metadata store. Cloning shares the store.
#[derive(Clone)]
pub struct Resources {
    clusters: Clusters,
    tenants: Tenants,
    namespaces: Namespaces,
    topics: Topics,
    schemas: Schemas,
}

impl Resources {
    /// The resources kept in `store`.
    pub fn new(store: &SharedMetadataStore) -> Self {
        Self {
            clusters: Clusters::new(store.clone()),
            tenants: Tenants::new(store.clone()),
            namespaces: Namespaces::new(store.clone()),
            topics: Topics::new(store.clone()),
            schemas: Schemas::new(store.clone()),
        }
    }

    /// The clusters.
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
    }

    /// The tenants.
    pub fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// The namespaces.
    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// The topics.
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// The schemas.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }
}
