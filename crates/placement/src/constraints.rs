//! What a cluster's operators demand of placement.

use std::collections::{BTreeMap, BTreeSet};

use crate::filter::{AntiAffinity, IsolationPolicies};
use crate::names::{BrokerId, BundleName};
use crate::settings::Settings;

/// The policies of a cluster at one moment.
#[derive(Clone, Copy)]
pub struct Constraints<'a> {
    /// The isolation policies.
    pub isolation: &'a IsolationPolicies,
    /// The anti-affinity groups.
    pub anti_affinity: &'a AntiAffinity,
    /// The failure domain of brokers that are in one.
    pub domains: &'a BTreeMap<BrokerId, String>,
    /// Bundles that hold non-persistent topics.
    pub non_persistent: &'a BTreeSet<BundleName>,
    /// Class name of the deciding manager.
    pub load_manager_class: &'a str,
    /// The settings.
    pub settings: &'a Settings,
}
