//! Where the shedder's plan says, else anywhere.

use std::collections::BTreeMap;

use rand::RngCore;
use serde::Deserialize;
use serde_json::Value;

use super::{Placement, PlacementRequest};
use crate::explain::Move;
use crate::names::{BrokerId, BundleName};
use crate::selection::{Selection, pick};

/// `AvgShedder` as a placement: a bundle it shed goes where its latest plan said, while that broker may take it; any
/// other bundle goes anywhere.
///
/// Plans are kept by the name of the bundle. Pulsar before apache/pulsar#26246 keeps them by its statistics, and so
/// loses them with the next report.
#[derive(Clone, Debug, Default)]
pub struct AvgPlacement {
    planned: BTreeMap<BundleName, BrokerId>,
}

impl Placement for AvgPlacement {
    fn name(&self) -> &'static str {
        "avg"
    }

    fn select(&mut self, request: &PlacementRequest<'_>, rng: &mut dyn RngCore) -> Selection {
        let planned = self.planned.get(request.bundle).filter(|broker| request.candidates.contains(broker));
        let best = planned.map_or_else(|| request.candidates.to_vec(), |broker| vec![broker.clone()]);
        Selection { broker: pick(&best, rng), best, scores: Vec::new() }
    }

    fn expect(&mut self, moves: &[Move]) {
        self.planned = moves.iter().filter_map(|m| Some((m.bundle.clone(), m.to.clone()?))).collect();
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.planned).unwrap_or_default()
    }

    fn restore(&mut self, state: &Value) -> Result<(), serde_json::Error> {
        self.planned = BTreeMap::deserialize(state)?;
        Ok(())
    }
}
