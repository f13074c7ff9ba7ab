//! What is set for a namespace on this cluster only.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::BundlesData;

/// A namespace's local policies, among them the bundles that routing goes by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalPolicies {
    /// How the namespace is cut into bundles now.
    pub bundles: BundlesData,
    /// Storage nodes the namespace prefers, as their JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bookie_affinity_group: Option<Value>,
    /// Namespaces of one group are kept on different brokers; compared ignoring case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_anti_affinity_group: Option<String>,
    /// Whether the namespace has moved to another cluster.
    #[serde(default)]
    pub migrated: bool,
    /// Every other key.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl LocalPolicies {
    /// Policies that set nothing but the bundles.
    pub fn new(bundles: BundlesData) -> Self {
        Self {
            bundles,
            bookie_affinity_group: None,
            namespace_anti_affinity_group: None,
            migrated: false,
            other: Map::new(),
        }
    }
}
