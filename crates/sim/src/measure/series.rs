//! What is seen of a cluster over time.

use crate::world::World;

/// The cluster at one moment. Utilisations are 1 for 100 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Seconds since the start.
    pub at: f64,
    /// Greatest utilisation, what moves cost aside.
    pub peak: f64,
    /// Greatest utilisation with what moves cost.
    pub felt_peak: f64,
    /// Mean utilisation.
    pub mean: f64,
    /// The least greatest utilisation that any placement could have.
    pub bound: f64,
    /// Moves so far.
    pub moves: u32,
}

/// The utilisation of hosts at one moment.
#[derive(Clone, Debug, PartialEq)]
pub enum HostsAt {
    /// Of each host, gone ones as NaN.
    Each(Vec<f32>),
    /// Of many hosts: the least, the quartiles and the greatest.
    Quartiles([f32; 5]),
}

/// Up to so many hosts are followed one by one.
const FOLLOWED: usize = 40;

/// A cluster over time.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The cluster at every moment.
    pub samples: Vec<Sample>,
    /// Its hosts at every moment.
    pub hosts: Vec<HostsAt>,
}

impl Series {
    /// Notes the cluster as it is now.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "for the eye, and hosts are few")]
    pub(crate) fn note(&mut self, world: &World, bound: f64, moves: u32) {
        let mut up: Vec<f32> = Vec::with_capacity(world.hosts.len());
        let (mut peak, mut felt_peak, mut sum): (f64, f64, f64) = (0.0, 0.0, 0.0);
        for host in world.hosts_up() {
            let used = world.utilisation(host);
            peak = peak.max(used);
            felt_peak = felt_peak.max(world.felt_utilisation(host));
            sum += used;
            up.push(used as f32);
        }
        let mean = sum / (up.len().max(1)) as f64;
        self.samples.push(Sample { at: world.now, peak, felt_peak, mean, bound, moves });
        self.hosts.push(if world.hosts.len() <= FOLLOWED {
            let of = |host: usize| if world.hosts[host].is_up() { world.utilisation(host) as f32 } else { f32::NAN };
            HostsAt::Each((0..world.hosts.len()).map(of).collect())
        } else {
            up.sort_by(f32::total_cmp);
            let at = |quarter: usize| up.get((up.len().max(1) - 1) * quarter / 4).copied().unwrap_or(0.0);
            HostsAt::Quartiles([at(0), at(1), at(2), at(3), at(4)])
        });
    }
}
