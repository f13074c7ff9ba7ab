//! What was unloaded a short while ago.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::{BrokerId, BundleName};

/// Recent unloads, by which a leader lets bundles and brokers rest. A new leader starts without any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentUnloads {
    /// When each bundle was unloaded, in milliseconds since 1970.
    pub bundles: BTreeMap<BundleName, i64>,
    /// When each broker last gave a bundle away, in milliseconds since 1970.
    pub brokers: BTreeMap<BrokerId, i64>,
}

impl RecentUnloads {
    /// Notes an unload that succeeded at `now`.
    pub fn note(&mut self, bundle: BundleName, source: BrokerId, now: i64) {
        self.bundles.insert(bundle, now);
        self.brokers.insert(source, now);
    }

    /// Forgets bundles unloaded more than `grace` milliseconds before `now`.
    pub fn forget_bundles(&mut self, now: i64, grace: i64) {
        self.bundles.retain(|_, unloaded| now.saturating_sub(*unloaded) <= grace);
    }
}
