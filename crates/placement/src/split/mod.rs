//! Which bundles are too big and have to be split.

mod leader;
mod owner;
mod reason;

pub use leader::{HotBundle, find_hot_bundles};
pub use owner::{OwnedBundles, SplitDecider, SplitDecision, SplitPlan, SplitRule, SplitVerdict};
pub use reason::SplitReason;

#[cfg(test)]
mod tests;
