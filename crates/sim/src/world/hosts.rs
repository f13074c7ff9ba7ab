//! Hosts as they really are.

use plerion_placement::BrokerId;

use super::vector::{CPU, Resources};
use crate::scenario::HostGroup;

/// What the names of hosts and namespaces that are set apart for each other begin with.
pub(crate) const APART: &str = "apart-";

/// What a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Serves.
    Up,
    /// Serves, and has been announced to leave.
    Leaving,
    /// Is gone.
    Down,
}

#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) id: BrokerId,
    pub(crate) capacity: Resources,
    pub(crate) presence: Presence,
    /// Whether it is set apart for the isolated namespaces.
    pub(crate) isolated: bool,
    foreign_mean: f64,
    foreign_swing: f64,
    foreign_period: f64,
}

impl Host {
    /// The host of this number.
    pub(crate) fn new(number: usize, group: &HostGroup, isolated: bool) -> Self {
        let capacity =
            Resources([group.cores.0, group.in_mbytes.0 * 1e6, group.out_mbytes.0 * 1e6, group.memory_gbytes.0 * 1e9]);
        Self {
            id: format!("{}{number:04}:8080", if isolated { APART } else { "broker-" }).into(),
            capacity,
            presence: Presence::Up,
            isolated,
            foreign_mean: group.foreign.0,
            foreign_swing: group.foreign_swing.0,
            foreign_period: group.foreign_period.0.max(1.0),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.presence != Presence::Down
    }

    /// Whether it can be counted on from now on.
    pub(crate) fn stays(&self) -> bool {
        self.presence == Presence::Up
    }

    /// What other programs use at `now`.
    pub(crate) fn foreign(&self, now: f64) -> Resources {
        let swing = self.foreign_swing * (std::f64::consts::TAU * now / self.foreign_period).sin();
        let mut foreign = Resources::default();
        foreign.0[CPU] = (self.foreign_mean + swing).max(0.0) * self.capacity.0[CPU];
        foreign
    }

    pub(crate) fn foreign_varies(&self) -> bool {
        self.foreign_swing > 0.0
    }
}
