//! What a cluster's operators demand of placement.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

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

/// The policies of a cluster at one moment, kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredConstraints {
    /// The isolation policies.
    pub isolation: IsolationPolicies,
    /// The anti-affinity groups.
    pub anti_affinity: AntiAffinity,
    /// The failure domain of brokers that are in one.
    pub domains: BTreeMap<BrokerId, String>,
    /// Bundles that hold non-persistent topics.
    pub non_persistent: BTreeSet<BundleName>,
    /// Class name of the deciding manager.
    pub load_manager_class: String,
    /// The settings.
    pub settings: Settings,
}

impl StoredConstraints {
    /// A copy of what is in force.
    #[must_use]
    pub fn of(constraints: &Constraints<'_>) -> Self {
        Self {
            isolation: constraints.isolation.clone(),
            anti_affinity: constraints.anti_affinity.clone(),
            domains: constraints.domains.clone(),
            non_persistent: constraints.non_persistent.clone(),
            load_manager_class: constraints.load_manager_class.to_owned(),
            settings: constraints.settings.clone(),
        }
    }

    /// What policies take.
    #[must_use]
    pub fn get(&self) -> Constraints<'_> {
        Constraints {
            isolation: &self.isolation,
            anti_affinity: &self.anti_affinity,
            domains: &self.domains,
            non_persistent: &self.non_persistent,
            load_manager_class: &self.load_manager_class,
            settings: &self.settings,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}
