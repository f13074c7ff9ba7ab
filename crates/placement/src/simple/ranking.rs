//! How much of a broker is taken, by what it uses and by what is set aside on it.

use std::cmp::Ordering;
use std::fmt;

use crate::load::{HostUsage, ResourceQuota, ResourceUsage};

/// Bytes per second of a quota in one kbit/s.
const BYTES_PER_KBIT: f64 = 128.0;

/// Loads closer than this, in percent points, are alike.
const ALIKE: f64 = 5.0;

/// What is taken of a broker, in percent (Pulsar's `ResourceUnitRanking`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranking {
    usage: HostUsage,
    cpu_factor: f64,
    cpu: f64,
    memory: f64,
    direct_memory: f64,
    bandwidth_in: f64,
    bandwidth_out: f64,
    message_rate: f64,
}

/// A resource of the Simple manager that can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// CPU.
    Cpu,
    /// Memory.
    Memory,
    /// Incoming bandwidth.
    BandwidthIn,
    /// Outgoing bandwidth.
    BandwidthOut,
}

impl Ranking {
    /// Ranks a broker that uses `usage`, with quotas adding up to `allocated` for the bundles it serves and to
    /// `preallocated` for the ones on their way. `cpu_factor` is the CPU, in percent of a core, that one message per
    /// second costs.
    #[must_use]
    pub fn new(usage: HostUsage, cpu_factor: f64, allocated: &ResourceQuota, preallocated: &ResourceQuota) -> Self {
        let taken = |resource: ResourceUsage, allocated: f64, preallocated: f64| {
            let used = resource.usage.max(allocated) + preallocated;
            if resource.limit > 0.0 { (100.0 * used / resource.limit).min(100.0) } else { 0.0 }
        };
        let kbits = |bytes: f64| bytes / BYTES_PER_KBIT;
        Self {
            cpu: taken(usage.cpu, cpu_factor * allocated.rate(), cpu_factor * preallocated.rate()),
            memory: taken(usage.memory, allocated.memory, preallocated.memory),
            direct_memory: taken(usage.direct_memory, 0.0, 0.0),
            bandwidth_in: taken(usage.bandwidth_in, kbits(allocated.bandwidth_in), kbits(preallocated.bandwidth_in)),
            bandwidth_out: taken(
                usage.bandwidth_out,
                kbits(allocated.bandwidth_out),
                kbits(preallocated.bandwidth_out),
            ),
            message_rate: allocated.rate() + preallocated.rate(),
            usage,
            cpu_factor,
        }
    }

    /// The scarcest resource, in percent.
    #[must_use]
    pub fn load(&self) -> f64 {
        [self.cpu, self.memory, self.direct_memory, self.bandwidth_in, self.bandwidth_out]
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// CPU, memory, direct memory and bandwidth in and out that are taken, in percent.
    #[must_use]
    pub fn percents(&self) -> [f64; 5] {
        [self.cpu, self.memory, self.direct_memory, self.bandwidth_in, self.bandwidth_out]
    }

    /// Messages per second that are set aside, bundles on their way included.
    #[must_use]
    pub fn message_rate(&self) -> f64 {
        self.message_rate
    }

    /// How many bundles with the quota `each` the whole broker has room for. A resource without a limit, or that the
    /// quota does not need, sets none.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
    pub fn capacity(&self, each: &ResourceQuota) -> i64 {
        let rooms = [
            self.usage.cpu.limit / self.cpu_factor / each.rate(),
            self.usage.memory.limit / each.memory,
            self.usage.bandwidth_out.limit * BYTES_PER_KBIT / each.bandwidth_out,
            self.usage.bandwidth_in.limit * BYTES_PER_KBIT / each.bandwidth_in,
        ];
        rooms.into_iter().fold(f64::INFINITY, f64::min) as i64
    }

    /// The resource that is scarcest among CPU, memory and bandwidth; the first of equals.
    #[must_use]
    pub fn bottleneck(&self) -> Bottleneck {
        let resources = [
            (Bottleneck::Memory, self.memory),
            (Bottleneck::BandwidthIn, self.bandwidth_in),
            (Bottleneck::BandwidthOut, self.bandwidth_out),
        ];
        let scarcest = resources.into_iter().fold((Bottleneck::Cpu, self.cpu), |scarcest, resource| {
            if resource.1 > scarcest.1 { resource } else { scarcest }
        });
        scarcest.0
    }

    /// Which of two brokers is more loaded. Loads that are alike are decided by memory, CPU, and bandwidth in and out, as
    /// far as those differ, and by the exact load at last.
    #[must_use]
    pub fn cmp_load(&self, other: &Self) -> Ordering {
        let pairs = [
            (self.load(), other.load()),
            (self.memory, other.memory),
            (self.cpu, other.cpu),
            (self.bandwidth_in, other.bandwidth_in),
            (self.bandwidth_out, other.bandwidth_out),
        ];
        let differing = pairs.into_iter().find(|(a, b)| (a - b).abs() > ALIKE);
        let (a, b) = differing.unwrap_or(pairs[0]);
        a.total_cmp(&b)
    }

    /// Which of two brokers has more messages set aside.
    #[must_use]
    pub fn cmp_message_rate(&self, other: &Self) -> Ordering {
        self.message_rate.total_cmp(&other.message_rate)
    }
}

impl fmt::Display for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "msgrate: {:.0}, load: {:.1}% - cpu: {:.1}%, mem: {:.1}%, directMemory: {:.1}%, bandwidthIn: {:.1}%, \
             bandwidthOut: {:.1}%",
            self.message_rate.round(),
            self.load(),
            self.cpu,
            self.memory,
            self.direct_memory,
            self.bandwidth_in,
            self.bandwidth_out
        )
    }
}
