//! The cluster, its metadata and its tenants.

use crate::key::declare;
use crate::kind::number::{Count, OrNone};
use crate::kind::{EmbeddedStore, Name, Switch};

declare! {
    /// The cluster, its metadata and its tenants.
    pub struct Cluster, "Cluster and tenants";

    /// The cluster's name, which namespaces list under their replication clusters.
    "clusterName" => name: String as Name = "standalone";

    /// Where metadata is kept.
    "metadataStoreUrl" => metadata_store: () as EmbeddedStore = "";

    /// Bundles that a namespace is divided into when its creator does not say.
    "defaultNumberOfNamespaceBundles" => default_bundles: u32 as Count[1..=4096] = "4", dynamic;

    /// How many tenants there may be.
    "maxTenants" => max_tenants: Option<u32> as OrNone<Count> = "0", dynamic;

    /// How many namespaces a tenant may have.
    "maxNamespacesPerTenant" => max_namespaces_per_tenant: Option<u32> as OrNone<Count> = "0", dynamic;

    /// Whether a tenant may be deleted together with what is in it.
    "forceDeleteTenantAllowed" => force_delete_tenant: bool as Switch = "false", dynamic;

    /// Whether a namespace may be deleted together with what is in it.
    "forceDeleteNamespaceAllowed" => force_delete_namespace: bool as Switch = "false", dynamic;

    /// Whether placement weighs a broker's load by the headroom that is left; otherwise it compares plain rates.
    "loadBalancerHeadroomWeightedPlacement" => headroom_weighted_placement: bool as Switch = "true", dynamic;
}
