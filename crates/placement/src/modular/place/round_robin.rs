//! Brokers in turn.

use rand::RngCore;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Placement, PlacementRequest};
use crate::names::BrokerId;
use crate::selection::Selection;

/// Pulsar's `RoundRobinBrokerSelector`: takes candidates in turn, in the order they had when the turn was set up. The
/// turn is set up anew when the number of candidates changes or the next one is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundRobin {
    turn: Vec<BrokerId>,
    /// Wraps at 2³¹ − 1 as upstream's does, so that two implementations stay in step.
    counter: u32,
}

impl RoundRobin {
    /// Starts with candidate number `counter` (modulo their number).
    #[must_use]
    pub fn starting_at(counter: u32) -> Self {
        Self { turn: Vec::new(), counter }
    }

    /// The next of `candidates`.
    pub fn next(&mut self, candidates: &[BrokerId]) -> Option<BrokerId> {
        if candidates.is_empty() {
            return None;
        }
        if self.turn.len() != candidates.len() {
            self.turn = candidates.to_vec();
        }
        let index = self.counter as usize % candidates.len();
        self.counter = if self.counter >= i32::MAX as u32 { 0 } else { self.counter + 1 };
        if !candidates.contains(&self.turn[index]) {
            self.turn = candidates.to_vec();
        }
        Some(self.turn[index].clone())
    }
}

impl Placement for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn select(&mut self, request: &PlacementRequest<'_>, _rng: &mut dyn RngCore) -> Selection {
        let broker = self.next(request.candidates);
        Selection { best: broker.iter().cloned().collect(), broker, scores: Vec::new() }
    }

    fn state(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn restore(&mut self, state: &Value) -> Result<(), serde_json::Error> {
        *self = Self::deserialize(state)?;
        Ok(())
    }
}
