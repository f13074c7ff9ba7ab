//! What is known of one broker.

use serde::{Deserialize, Serialize};

use crate::balancer::BrokerInfo;
use crate::load::HostUsage;
use crate::names::BrokerId;
use crate::planner::{RESOURCES, Vector};

/// Seconds over which wavering is measured.
const STRIDE: u32 = 10;

/// Levels follow what is measured within some seconds, so that neighbouring strides differ less than what they follow does:
/// this share of the variance is seen, for levels that take five seconds and strides of ten.
const SEEN: f64 = 0.38;

/// Time after which wavering of now tells nothing of that to come, in seconds.
const CORRELATION: f64 = 600.0;

/// A broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Broker {
    pub(super) id: BrokerId,
    pub(super) info: BrokerInfo,
    pub(super) present: bool,
    pub(super) drains: bool,
    /// Its latest report: use of the host, of its own process, and when it was made (milliseconds since 1970).
    pub(super) host: HostUsage,
    pub(super) own: HostUsage,
    pub(super) reported: Option<i64>,
    /// Memory of its process that is no bundle's, in MB.
    pub(super) overhead: f64,
    /// When bundles of it last changed for good, in milliseconds since 1970; 0 for never.
    pub(super) news: i64,
    /// How much utilisation such changes added.
    pub(super) more: f64,
    /// Since when the means of its bundles are taken, in seconds since 1970.
    pub(super) watched: u32,
    /// How its use wavers.
    pub(super) wavering: Wavering,
}

impl Broker {
    pub(super) fn new(id: BrokerId, info: BrokerInfo) -> Self {
        Self {
            id,
            info,
            present: true,
            drains: false,
            host: HostUsage::default(),
            own: HostUsage::default(),
            reported: None,
            overhead: 0.0,
            news: 0,
            more: 0.0,
            watched: 0,
            wavering: Wavering::default(),
        }
    }

    /// Whether it can be planned with.
    pub(super) fn counts(&self) -> bool {
        self.present && self.reported.is_some()
    }

    /// What it has: CPU in percent of a core, bandwidth in kbit/s, memory in MB. Without a limit a resource takes no part.
    pub(super) fn limits(&self) -> [f64; RESOURCES] {
        let host = &self.host;
        [host.cpu.limit, host.bandwidth_in.limit, host.bandwidth_out.limit, host.memory.limit]
    }

    /// What is used of it by others than the broker itself, as far as the report tells. `by_bundles` is what its bundles
    /// are known to use, for resources that the report does not tell apart.
    pub(super) fn foreign(&self, by_bundles: [f64; RESOURCES]) -> [f64; RESOURCES] {
        let pairs = [
            (self.host.cpu, self.own.cpu),
            (self.host.bandwidth_in, self.own.bandwidth_in),
            (self.host.bandwidth_out, self.own.bandwidth_out),
            (self.host.memory, self.own.memory),
        ];
        std::array::from_fn(|r| {
            let (host, own) = pairs[r];
            let own = if own.limit > 0.0 { own.usage } else { by_bundles[r] };
            (host.usage - own).max(0.0)
        })
    }
}

/// How much the use of a broker changes without anything having happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Wavering {
    /// Change of utilisation since `since`.
    pub(super) sum: f64,
    /// When that began, in seconds since 1970.
    pub(super) since: u32,
    /// The change of the stride before.
    pub(super) before: Option<f64>,
    /// Mean square of such changes, and of how many.
    pub(super) square: f64,
    pub(super) count: u32,
}

impl Wavering {
    /// The utilisation changed by so much.
    pub(super) fn add(&mut self, change: f64) {
        self.sum += change;
    }

    /// Closes the stride if it is over.
    pub(super) fn close(&mut self, now: u32) {
        if self.since == 0 {
            self.since = now.max(1);
            self.sum = 0.0;
        }
        if now.saturating_sub(self.since) >= STRIDE {
            if let Some(before) = self.before {
                self.count = self.count.saturating_add(1);
                // A mean over half an hour. What both strides have in common is a trend and no wavering.
                let weight = 1.0 / f64::from(self.count.min(180));
                self.square += ((self.sum - before).powi(2) / 2.0 - self.square) * weight;
            }
            self.before = Some(self.sum);
            self.sum = 0.0;
            self.since = now;
        }
    }
}

/// The deviation of a broker's utilisation from its mean that strides of mean square `square` add up to, as long as they
/// are correlated.
pub(super) fn deviation(square: f64) -> f64 {
    (square / SEEN / (2.0 * (1.0 - (-f64::from(STRIDE) / CORRELATION).exp()))).max(0.0).sqrt()
}

/// The part of such a deviation that is left in a mean of `seconds`.
pub(super) fn left_in_mean(seconds: u32) -> f64 {
    (CORRELATION / (CORRELATION + f64::from(seconds.min(3_600)))).sqrt()
}

#[expect(clippy::cast_possible_truncation, reason = "single precision is enough for an amount")]
pub(super) fn vector(amounts: [f64; RESOURCES]) -> Vector {
    Vector(amounts.map(|amount| amount as f32))
}
