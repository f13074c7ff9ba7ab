//! A namespace's hash ring: topic → CRC-32 → bundle, boundaries, splits and the namespaces with a fixed owner.

mod error;
mod hash;
mod range;
mod ring;
pub mod special;
pub mod split;

pub use error::BundleError;
pub use hash::topic_hash;
pub use range::BundleRange;
pub use ring::{BundleSplit, Bundles};

#[cfg(test)]
mod tests;
