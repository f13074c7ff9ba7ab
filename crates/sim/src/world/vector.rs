//! Amounts of the four resources.

use std::ops::{Add, AddAssign, Mul, Sub};

/// CPU in cores, incoming and outgoing bandwidth in bytes per second, memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Resources(pub(crate) [f64; 4]);

/// Indices into [`Resources`].
pub(crate) const CPU: usize = 0;
pub(crate) const IN: usize = 1;
pub(crate) const OUT: usize = 2;
pub(crate) const MEMORY: usize = 3;

impl Resources {
    /// The greatest share of `capacity`; infinite where something is used that is not there.
    pub(crate) fn share_of(&self, capacity: &Self) -> f64 {
        self.shares_of(capacity).into_iter().fold(0.0, f64::max)
    }

    pub(crate) fn shares_of(&self, capacity: &Self) -> [f64; 4] {
        std::array::from_fn(|r| match (self.0[r], capacity.0[r]) {
            (used, _) if used <= 0.0 => 0.0,
            (used, capacity) if capacity > 0.0 => used / capacity,
            _ => f64::INFINITY,
        })
    }
}

impl Add for Resources {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|r| self.0[r] + other.0[r]))
    }
}

impl Sub for Resources {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|r| self.0[r] - other.0[r]))
    }
}

impl AddAssign for Resources {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<f64> for Resources {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self(self.0.map(|amount| amount * factor))
    }
}
