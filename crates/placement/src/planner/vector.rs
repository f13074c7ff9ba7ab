//! Load as a vector.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// The number of resources: CPU, incoming bandwidth, outgoing bandwidth, memory.
pub const RESOURCES: usize = 4;

/// An amount of each resource, in units of one's own choice, the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vector(pub [f32; RESOURCES]);

impl Vector {
    /// The same amount of every resource.
    #[must_use]
    pub const fn all(amount: f32) -> Self {
        Self([amount; RESOURCES])
    }

    /// The greatest amount.
    #[must_use]
    pub fn greatest(&self) -> f64 {
        f64::from(self.0.into_iter().fold(0.0, f32::max))
    }
}

/// An exact running total.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Total(pub(super) [f64; RESOURCES]);

impl From<Vector> for Total {
    fn from(vector: Vector) -> Self {
        Self(vector.0.map(f64::from))
    }
}

impl Add<Vector> for Total {
    type Output = Self;

    fn add(mut self, other: Vector) -> Self {
        self += other;
        self
    }
}

impl Sub<Vector> for Total {
    type Output = Self;

    fn sub(mut self, other: Vector) -> Self {
        self -= other;
        self
    }
}

impl AddAssign<Vector> for Total {
    fn add_assign(&mut self, other: Vector) {
        self.0.iter_mut().zip(other.0).for_each(|(total, amount)| *total += f64::from(amount));
    }
}

impl SubAssign<Vector> for Total {
    fn sub_assign(&mut self, other: Vector) {
        for (total, amount) in self.0.iter_mut().zip(other.0.map(f64::from)) {
            *total -= amount;
            // What rounding leaves of a total from which everything was taken.
            if total.abs() < ROUNDING * amount {
                *total = 0.0;
            }
        }
    }
}

impl Total {
    /// The scarcest resource of a host with this capacity, and the share of it that is used. Using what the host does not
    /// have is an infinite share.
    pub(super) fn utilisation(&self, capacity: &Vector) -> (usize, f64) {
        let mut scarcest = (0, 0.0);
        for (resource, (used, capacity)) in self.0.into_iter().zip(capacity.0).enumerate() {
            let share = share(used, f64::from(capacity));
            if share > scarcest.1 {
                scarcest = (resource, share);
            }
        }
        scarcest
    }
}

/// Less than this share of an amount is rounding.
const ROUNDING: f64 = 1e-6;

pub(super) fn share(used: f64, capacity: f64) -> f64 {
    if used <= 0.0 {
        0.0
    } else if capacity > 0.0 {
        used / capacity
    } else {
        f64::INFINITY
    }
}
