//! Splits of bundles.

use std::sync::Arc;

use plerion_placement::BundleName;
use plerion_placement::explain::Split;

use super::topics::{Part, TopicSet};
use super::{Bundle, World};

impl World {
    /// The topics a bundle's root has.
    pub(super) fn topic_set(&self, root: u32) -> TopicSet {
        let of = &self.roots[root as usize];
        TopicSet { chance: self.chance, root, range: of.range, count: of.topics, exponent: self.topic_exponent }
    }

    /// Carries out a split at the owner. Returns the bundle and its parts; `None` if the bundle is gone or elsewhere, the cut
    /// is not inside it, or bundles cannot be split.
    pub(crate) fn split(&mut self, split: &Split) -> Option<(u32, Vec<BundleName>)> {
        let parent = self.bundle(&split.bundle)?;
        let owner = self.host(&split.broker)?;
        if !self.splits || self.bundles[parent as usize].owner != owner || split.at.is_empty() {
            return None;
        }
        let names = split.children()?;
        let root = self.bundles[parent as usize].root;
        let topics = self.topic_set(root);
        self.give(parent, None);
        self.bundles[parent as usize].exists = false;
        for name in &names {
            let range = name.range().ok()?;
            let part = topics.part(range);
            let child = u32::try_from(self.bundles.len()).ok()?;
            self.bundles.push(bundle_of(name.clone(), root, range, part));
            self.by_name.insert(name.clone(), child);
            self.give(child, Some(owner));
        }
        let counts = Arc::make_mut(&mut self.bundle_counts);
        if let Some(count) = counts.get_mut(split.bundle.namespace()) {
            *count += names.len() - 1;
        }
        self.settle();
        Some((parent, names))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
fn bundle_of(name: BundleName, root: u32, range: plerion_placement::bundle::BundleRange, part: Part) -> Bundle {
    let largest_topic = if part.share > 0.0 { (part.largest_topic / part.share) as f32 } else { 0.0 };
    let (share, topics) = (part.share as f32, part.topics);
    Bundle { name, root, range, share, largest_topic, topics, owner: super::NOBODY, exists: true }
}
