//! Which bundles may be transferred where.

use crate::explain::BundleRule;
use crate::names::{BrokerId, BundleName};

/// What the shedder has to know of ownership and policies.
pub trait TransferRules {
    /// Whether `broker` owns the bundle now.
    fn is_owner(&self, bundle: &BundleName, broker: &BrokerId) -> bool;

    /// Whether the bundle may go from `from` to `to`. Without transfers `to` is only where it might go, and has to be
    /// allowed all the same.
    ///
    /// # Errors
    /// The rule that forbids it.
    fn may_transfer(&self, bundle: &BundleName, from: &BrokerId, to: &BrokerId) -> Result<(), BundleRule>;
}
