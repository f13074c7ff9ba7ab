//! Where the shedder's plan says, else anywhere.

use std::collections::BTreeMap;

use rand::RngCore;

use super::{Placement, PlacementRequest};
use crate::explain::Move;
use crate::names::{BrokerId, BundleName};
use crate::selection::{Selection, pick};

/// `AvgShedder` as a placement: a bundle it shed goes where the plan said, any other anywhere, and each keeps its answer
/// while that broker may take it.
///
/// Plans are kept by the name of the bundle. Pulsar before apache/pulsar#26246 keeps them by its statistics, and so
/// loses them with the next report.
#[derive(Clone, Debug, Default)]
pub struct AvgPlacement {
    destinations: BTreeMap<BundleName, BrokerId>,
}

impl Placement for AvgPlacement {
    fn name(&self) -> &'static str {
        "avg"
    }

    fn select(&mut self, request: &PlacementRequest<'_>, rng: &mut dyn RngCore) -> Selection {
        self.destinations.retain(|_, broker| request.data.brokers.contains_key(broker));
        let planned = self.destinations.get(request.bundle).filter(|broker| request.candidates.contains(broker));
        let best = planned.map_or_else(|| request.candidates.to_vec(), |broker| vec![broker.clone()]);
        let broker = pick(&best, rng);
        if let Some(broker) = &broker {
            self.destinations.insert(request.bundle.clone(), broker.clone());
        }
        Selection { broker, best, scores: Vec::new() }
    }

    fn expect(&mut self, moves: &[Move]) {
        let planned = moves.iter().filter_map(|m| Some((m.bundle.clone(), m.to.clone()?)));
        self.destinations.extend(planned);
    }
}
