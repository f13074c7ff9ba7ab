//! Where bundles that are too big to be placed well are cut.

use super::Detail;
use super::names::Key;
use crate::balancer::BUCKETS;
use crate::bundle::BundleRange;

/// The ring position at which bucket `bucket` of a range begins.
pub(super) fn boundary(range: BundleRange, bucket: usize) -> u32 {
    let width = u64::from(range.upper() - range.lower());
    let offset = (width * bucket as u64).div_ceil(BUCKETS as u64);
    range.lower() + u32::try_from(offset).unwrap_or(0)
}

/// Runs of buckets, each as near to `share` of the load as possible without exceeding it. One bucket is the least. Runs
/// without load join the one before.
pub(super) fn runs(buckets: &[f32; BUCKETS], share: f64) -> Vec<(usize, usize, f64)> {
    let mut runs: Vec<(usize, usize, f64)> = Vec::new();
    for (bucket, part) in buckets.iter().enumerate() {
        let part = f64::from(*part);
        match runs.last_mut() {
            Some((_, end, sum)) if part <= 0.0 || *sum <= 0.0 || *sum + part <= share => {
                *end = bucket + 1;
                *sum += part;
            }
            _ => runs.push((bucket, bucket + 1, part)),
        }
    }
    runs
}

/// The share of a bundle's load that lies in a part of it. Without knowledge load is where the range is.
pub(super) fn share_of(parent: Key, part: Key, detail: Option<&Detail>) -> f32 {
    let width = f64::from(parent.upper.saturating_sub(parent.lower)).max(1.0);
    let from = f64::from(part.lower.saturating_sub(parent.lower)) / width;
    let to = f64::from(part.upper.saturating_sub(parent.lower)) / width;
    let buckets = detail.map_or([1.0 / BUCKETS as f32; BUCKETS], |detail| detail.buckets);
    let mut share = 0.0;
    for (bucket, load) in buckets.iter().enumerate() {
        let (begin, end) = (bucket as f64 / BUCKETS as f64, (bucket + 1) as f64 / BUCKETS as f64);
        let covered = (to.min(end) - from.max(begin)).max(0.0) * BUCKETS as f64;
        share += f64::from(*load) * covered;
    }
    #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for a share")]
    let share = share as f32;
    share.clamp(0.0, 1.0)
}
