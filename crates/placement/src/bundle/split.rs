//! The algorithms that say where to cut a bundle.

use super::BundleRange;

/// Everything a split algorithm may look at.
#[derive(Clone, Copy, Debug)]
pub struct SplitRequest<'a> {
    /// The bundle to cut.
    pub range: BundleRange,
    /// The topics its owner serves in it.
    pub topics: &'a [TopicLoad],
    /// Positions a client asked for; only `specified_positions_divide` reads them.
    pub positions: &'a [i64],
    /// The limits of one bundle; only `flow_or_qps_equally_divide` reads them.
    pub limits: FlowLimits,
}

/// One topic of the bundle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopicLoad {
    /// Ring position of the topic.
    pub hash: u32,
    /// What the topic carries, in and out together; `None` while it has no statistics.
    pub flow: Option<Flow>,
}

/// A rate of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Messages per second.
    pub rate: f64,
    /// Bytes per second.
    pub throughput: f64,
}

/// When a bundle carries too much, for `flow_or_qps_equally_divide`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowLimits {
    /// Messages per second of one bundle (`loadBalancerNamespaceBundleMaxMsgRate`).
    pub max_rate: f64,
    /// Bytes per second of one bundle (`loadBalancerNamespaceBundleMaxBandwidthMbytes` · 2²⁰).
    pub max_throughput: f64,
    /// Share above a limit that is tolerated (`flowOrQpsDifferenceThresholdPercentage` / 100).
    pub tolerance: f64,
}

/// Why an algorithm refuses a request. A client's mistake: 412 over HTTP, pointless to retry unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// `specified_positions_divide` without positions.
    #[error("SplitBoundaries can't be empty")]
    NoPositions,
}

/// Finds the boundaries that divide a bundle.
pub trait SplitAlgorithm: Send + Sync {
    /// The name used in settings and requests.
    fn name(&self) -> &'static str;

    /// New boundaries strictly inside the range, rising. Empty means that there is nothing to cut.
    ///
    /// # Errors
    /// [`SplitError`] when the request itself is wrong.
    fn boundaries(&self, request: &SplitRequest<'_>) -> Result<Vec<u32>, SplitError>;
}

/// `range_equally_divide`: the middle of the range.
#[derive(Clone, Copy, Debug, Default)]
pub struct RangeEquallyDivide;

/// `topic_count_equally_divide`: between the two middle topics by hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct TopicCountEquallyDivide;

/// `specified_positions_divide`: where the client says.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpecifiedPositionsDivide {
    /// Cut even a bundle with fewer than two topics: the owner repeats a split that was already decided.
    pub force: bool,
}

/// `flow_or_qps_equally_divide`: as many parts as keep each below the limits of one bundle.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowOrQpsEquallyDivide;

impl SplitAlgorithm for RangeEquallyDivide {
    fn name(&self) -> &'static str {
        "range_equally_divide"
    }

    fn boundaries(&self, request: &SplitRequest<'_>) -> Result<Vec<u32>, SplitError> {
        let range = request.range;
        Ok(inside(range, [midpoint(range.lower(), range.upper())]))
    }
}

impl SplitAlgorithm for TopicCountEquallyDivide {
    fn name(&self) -> &'static str {
        "topic_count_equally_divide"
    }

    fn boundaries(&self, request: &SplitRequest<'_>) -> Result<Vec<u32>, SplitError> {
        if request.topics.len() < 2 {
            return Ok(Vec::new());
        }
        let mut hashes: Vec<u32> = request.topics.iter().map(|topic| topic.hash).collect();
        hashes.sort_unstable();
        let middle = hashes.len() / 2;
        Ok(inside(request.range, [midpoint(hashes[middle - 1], hashes[middle])]))
    }
}

impl SplitAlgorithm for SpecifiedPositionsDivide {
    fn name(&self) -> &'static str {
        "specified_positions_divide"
    }

    fn boundaries(&self, request: &SplitRequest<'_>) -> Result<Vec<u32>, SplitError> {
        if request.positions.is_empty() {
            return Err(SplitError::NoPositions);
        }
        if request.topics.len() < 2 && !self.force {
            return Ok(Vec::new());
        }
        let on_ring = request.positions.iter().filter_map(|&position| u32::try_from(position).ok());
        let mut positions = inside(request.range, on_ring);
        positions.sort_unstable();
        positions.dedup();
        Ok(positions)
    }
}

impl SplitAlgorithm for FlowOrQpsEquallyDivide {
    fn name(&self) -> &'static str {
        "flow_or_qps_equally_divide"
    }

    fn boundaries(&self, request: &SplitRequest<'_>) -> Result<Vec<u32>, SplitError> {
        let flows = flows_by_hash(request.topics);
        if flows.len() < 2 {
            return Ok(Vec::new());
        }
        let limits = request.limits;
        let total = flows.iter().fold(Flow::default(), |sum, &(_, flow)| sum.plus(flow));
        if total.rate < limits.max_rate * (1.0 + limits.tolerance)
            && total.throughput < limits.max_throughput * (1.0 + limits.tolerance)
        {
            return Ok(Vec::new());
        }
        let mut cuts = Vec::new();
        let mut part = flows[0].1;
        for pair in flows.windows(2) {
            let ((previous, _), (hash, flow)) = (pair[0], pair[1]);
            let joined = part.plus(flow);
            if joined.rate > limits.max_rate || joined.throughput > limits.max_throughput {
                cuts.push(midpoint(previous, hash) + 1);
                part = flow;
            } else {
                part = joined;
            }
        }
        Ok(inside(request.range, cuts))
    }
}

impl Flow {
    fn plus(self, other: Self) -> Self {
        Self { rate: self.rate + other.rate, throughput: self.throughput + other.throughput }
    }
}

/// The traffic at each ring position that has any, by rising position. Topics that share a position cannot be separated,
/// so their traffic counts as one.
fn flows_by_hash(topics: &[TopicLoad]) -> Vec<(u32, Flow)> {
    let mut flows: Vec<(u32, Flow)> = topics
        .iter()
        .filter_map(|topic| Some((topic.hash, topic.flow?)))
        .filter(|(_, flow)| flow.rate > 0.0 || flow.throughput > 0.0)
        .collect();
    flows.sort_by_key(|&(hash, _)| hash);
    flows.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = kept.1.plus(later.1);
        }
        same
    });
    flows
}

fn midpoint(low: u32, high: u32) -> u32 {
    low + (high - low) / 2
}

fn inside(range: BundleRange, positions: impl IntoIterator<Item = u32>) -> Vec<u32> {
    positions.into_iter().filter(|&position| range.has_inside(position)).collect()
}
