//! The cluster as it really is: what every bundle costs, where it is, and what its move costs. Policies see none of it
//! but what [`measure`](World::measure) reports.

mod build;
mod drive;
mod hosts;
mod measure;
mod split;
mod start;
mod topics;
mod trace;
pub(crate) mod vector;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use plerion_placement::BundleName;
use plerion_placement::bundle::BundleRange;
use plerion_placement::filter::IsolationPolicies;

pub(crate) use build::build;
pub(crate) use hosts::{Host, Presence};

use self::drive::Drive;
use self::measure::Details;
use self::vector::Resources;
use crate::chance::Chance;

/// A bundle of the start. Splits make several of it, which share its load.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) namespace: u32,
    pub(crate) range: BundleRange,
    pub(crate) topics: u32,
    /// What it uses while nothing changes its load.
    pub(crate) base: Resources,
    /// Messages per second, published and dispatched.
    pub(crate) rates: [f64; 2],
}

/// A bundle.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: BundleName,
    pub(crate) root: u32,
    pub(crate) range: BundleRange,
    /// Its part of the root's load.
    pub(crate) share: f32,
    /// The largest topic's part of the bundle's load.
    pub(crate) largest_topic: f32,
    pub(crate) topics: u32,
    /// The host that serves it, or [`NOBODY`].
    pub(crate) owner: u32,
    /// Whether it exists; a split ends it.
    pub(crate) exists: bool,
}

/// The owner of a bundle that nobody serves.
pub(crate) const NOBODY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    pub(crate) tenant: u32,
    pub(crate) isolated: bool,
}

/// A passing extra load.
#[derive(Clone, Copy, Debug)]
struct Burden {
    host: u32,
    extra: Resources,
    from: f64,
    until: f64,
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) now: f64,
    pub(crate) hosts: Vec<Host>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) roots: Vec<Root>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) isolation: Arc<IsolationPolicies>,
    pub(crate) splits: bool,
    pub(crate) clients_per_topic: f64,
    topic_exponent: f64,
    chance: Chance,
    by_name: HashMap<BundleName, u32>,
    /// The bundles of each host.
    owned: Vec<Vec<u32>>,
    /// Whether the bundles of a host are listed by name.
    in_order: Vec<bool>,
    /// What the bundles of each host use.
    used: Vec<Resources>,
    stale: Vec<bool>,
    burdens: Vec<Burden>,
    burden: Vec<Resources>,
    drive: Drive,
    details: Details,
    /// How many bundles each namespace has.
    bundle_counts: Arc<BTreeMap<String, usize>>,
    /// Grows with every change of load, owners or hosts.
    pub(crate) version: u64,
}

impl World {
    /// Goes on to the time `now`.
    pub(crate) fn advance(&mut self, now: f64) {
        let before = std::mem::replace(&mut self.now, now);
        if self.drive.advance(now, &mut self.roots, &self.namespaces) {
            self.stale.fill(true);
        }
        if self.hosts.iter().any(Host::foreign_varies) {
            self.version += 1;
        }
        self.burden.fill(Resources::default());
        let length = (now - before).max(1e-9);
        for burden in &self.burdens {
            let overlap = (burden.until.min(now) - burden.from.max(before)).max(0.0);
            self.burden[burden.host as usize] += burden.extra * (overlap / length);
        }
        self.burdens.retain(|burden| burden.until > now);
        self.settle();
    }

    /// When the load first changes in a way that is more than noise.
    pub(crate) fn first_change(&self) -> Option<f64> {
        self.drive.first_change()
    }

    /// Adds up again what has changed.
    pub(crate) fn settle(&mut self) {
        for host in 0..self.hosts.len() {
            if std::mem::take(&mut self.stale[host]) {
                let mut used = Resources::default();
                for bundle in &self.owned[host] {
                    used += self.load(*bundle);
                }
                self.used[host] = used;
                self.version += 1;
            }
        }
    }

    /// What a bundle uses now.
    pub(crate) fn load(&self, bundle: u32) -> Resources {
        let bundle = &self.bundles[bundle as usize];
        self.roots[bundle.root as usize].base * (f64::from(bundle.share) * self.drive.factor(bundle.root))
    }

    /// What cannot move off a host.
    pub(crate) fn foreign(&self, host: usize) -> Resources {
        self.hosts[host].foreign(self.now)
    }

    /// What is used of a host, passing burdens aside.
    pub(crate) fn used(&self, host: usize) -> Resources {
        self.foreign(host) + self.used[host]
    }

    /// The utilisation of a host, passing burdens aside.
    pub(crate) fn utilisation(&self, host: usize) -> f64 {
        self.used(host).share_of(&self.hosts[host].capacity)
    }

    /// The utilisation of a host with what moves cost it at the moment.
    pub(crate) fn felt_utilisation(&self, host: usize) -> f64 {
        (self.used(host) + self.burden[host]).share_of(&self.hosts[host].capacity)
    }

    /// Burdens a host for a while.
    pub(crate) fn burden(&mut self, host: u32, extra: Resources, from: f64, until: f64) {
        self.burdens.push(Burden { host, extra, from, until });
    }

    /// The hosts that serve.
    pub(crate) fn hosts_up(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.hosts.len()).filter(|host| self.hosts[*host].is_up())
    }

    /// The host of this id.
    pub(crate) fn host(&self, id: &str) -> Option<u32> {
        let host = self.hosts.iter().position(|host| &*host.id == id)?;
        u32::try_from(host).ok()
    }

    /// The bundle of this name.
    pub(crate) fn bundle(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied().filter(|bundle| self.bundles[*bundle as usize].exists)
    }

    /// The bundles that exist.
    pub(crate) fn bundles_alive(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.bundles).filter(|(_, bundle)| bundle.exists).map(|(index, _)| index)
    }

    /// The bundles a host serves.
    pub(crate) fn owned_by(&self, host: usize) -> &[u32] {
        &self.owned[host]
    }

    /// Gives a bundle to a host, or to nobody.
    pub(crate) fn give(&mut self, bundle: u32, to: Option<u32>) {
        let owner = std::mem::replace(&mut self.bundles[bundle as usize].owner, to.unwrap_or(NOBODY));
        for host in [owner, to.unwrap_or(NOBODY)].into_iter().filter(|host| *host != NOBODY) {
            self.stale[host as usize] = true;
        }
        if owner != NOBODY {
            self.owned[owner as usize].retain(|owned| *owned != bundle);
        }
        if let Some(to) = to {
            self.owned[to as usize].push(bundle);
            self.in_order[to as usize] = false;
        }
    }

    /// Whether a bundle is of an isolated namespace.
    pub(crate) fn is_isolated(&self, bundle: u32) -> bool {
        let root = &self.roots[self.bundles[bundle as usize].root as usize];
        self.namespaces[root.namespace as usize].isolated
    }

    /// The clients attached to a bundle.
    pub(crate) fn clients(&self, bundle: u32) -> f64 {
        f64::from(self.bundles[bundle as usize].topics) * self.clients_per_topic
    }

    /// Exchanges what messages cost between bundles of one broker, which nobody there can see.
    #[cfg(test)]
    pub(crate) fn exchange_hidden_costs(&mut self) {
        for host in 0..self.hosts.len() {
            for pair in self.owned[host].chunks_exact(2) {
                let [a, b] = [pair[0], pair[1]].map(|bundle| self.bundles[bundle as usize].root as usize);
                let cost = self.roots[a].base.0[vector::CPU];
                self.roots[a].base.0[vector::CPU] = self.roots[b].base.0[vector::CPU];
                self.roots[b].base.0[vector::CPU] = cost;
            }
        }
        self.stale.fill(true);
        self.settle();
    }

    /// Adds a host.
    pub(crate) fn join(&mut self, host: Host) -> u32 {
        self.hosts.push(host);
        self.owned.push(Vec::new());
        self.in_order.push(true);
        self.used.push(Resources::default());
        self.stale.push(false);
        self.burden.push(Resources::default());
        self.version += 1;
        u32::try_from(self.hosts.len() - 1).unwrap_or(NOBODY)
    }

    /// Changes what a host does.
    pub(crate) fn set_presence(&mut self, host: u32, presence: Presence) {
        self.hosts[host as usize].presence = presence;
        self.version += 1;
    }
}
