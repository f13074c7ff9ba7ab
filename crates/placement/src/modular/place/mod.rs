//! Placements: which of the allowed brokers takes a bundle.

mod avg;
mod long_term_rate;
mod resource_usage;
mod round_robin;

pub use avg::AvgPlacement;
pub use long_term_rate::LeastLongTermMessageRate;
pub use resource_usage::LeastResourceUsageWithWeight;
pub use round_robin::RoundRobin;

use std::collections::BTreeMap;

use rand::RngCore;
use serde_json::Value;

use super::LoadData;
use crate::explain::Move;
use crate::names::{BrokerId, BundleName};
use crate::selection::Selection;
use crate::settings::Settings;

/// A bundle to place.
#[derive(Clone, Copy, Debug)]
pub struct PlacementRequest<'a> {
    /// The bundle.
    pub bundle: &'a BundleName,
    /// The brokers that may take it, in the order that counts for taking turns.
    pub candidates: &'a [BrokerId],
    /// What is known of the cluster.
    pub data: &'a LoadData,
    /// How many bundles of the namespace each broker has.
    pub namespace_bundles: &'a BTreeMap<BrokerId, u32>,
    /// The settings.
    pub settings: &'a Settings,
}

/// Picks a broker. The state a placement keeps is its own; the same state, request and random numbers give the same
/// answer.
pub trait Placement: Send {
    /// The short name in settings and explanations.
    fn name(&self) -> &'static str;

    /// Chooses among the candidates.
    fn select(&mut self, request: &PlacementRequest<'_>, rng: &mut dyn RngCore) -> Selection;

    /// Hears of a shedder's plan, which may name destinations.
    fn expect(&mut self, _moves: &[Move]) {}

    /// What the placement remembers between requests, for a record.
    fn state(&self) -> Value {
        Value::Null
    }

    /// Takes up where a placement with this state was.
    ///
    /// # Errors
    /// When the state is not one that [`Placement::state`] of this placement gave.
    fn restore(&mut self, _state: &Value) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
