//! A placement of one's own: registered by name, it is used like the built-in ones.

use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::filter::{AntiAffinity, IsolationPolicies};
use plerion_placement::load::LocalBrokerData;
use plerion_placement::modular::place::{Placement, PlacementRequest};
use plerion_placement::{Constraints, ManagerError, ManagerKind, Registry, Score, ScoreRule, Selection, Settings};
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

/// Takes the broker with the fewest bundles, those on their way included.
struct FewestBundles;

impl Placement for FewestBundles {
    fn name(&self) -> &'static str {
        "fewest-bundles"
    }

    fn select(&mut self, request: &PlacementRequest<'_>, _rng: &mut dyn RngCore) -> Selection {
        let known = request.candidates.iter().filter_map(|id| Some((id, request.data.brokers.get(id)?)));
        let scores: Vec<Score> = known
            .map(|(id, broker)| {
                let bundles = broker.local.bundles.len() + broker.preallocated.len();
                Score { broker: id.clone(), score: bundles as f64, rule: ScoreRule::Scored }
            })
            .collect();
        let best = scores.iter().min_by(|a, b| a.score.total_cmp(&b.score)).map(|score| score.broker.clone());
        Selection { best: best.iter().cloned().collect(), broker: best, scores }
    }
}

fn main() -> Result<(), ManagerError> {
    let mut registry = Registry::default();
    registry.add_placement("fewest-bundles", || Box::new(FewestBundles));
    let mut manager = registry.modular_manager("fewest-bundles", "threshold")?;

    let settings = Settings::default();
    let class = ManagerKind::Modular.class_name();
    for (id, bundles) in [("broker-1:8080", 3), ("broker-2:8080", 1), ("broker-3:8080", 2)] {
        let report = LocalBrokerData {
            persistent_topics_enabled: true,
            load_manager_class_name: Some(class.to_owned()),
            bundles: (0..bundles).map(|i| format!("{id}/ns/{i}").into()).collect(),
            ..LocalBrokerData::default()
        };
        manager.report(&id.into(), report, |_| None, 0, &settings);
    }

    let constraints = Constraints {
        isolation: &IsolationPolicies::default(),
        anti_affinity: &AntiAffinity::default(),
        domains: &BTreeMap::new(),
        non_persistent: &BTreeSet::new(),
        load_manager_class: class,
        settings: &settings,
    };
    let bundle = "tenant/ns/0x00000000_0xffffffff".into();
    let assignment = manager.select(&bundle, &constraints, 0, &mut SmallRng::seed_from_u64(1));
    assert_eq!(assignment.selection.broker.as_deref(), Some("broker-2:8080"));
    Ok(())
}

#[test]
fn the_own_placement_decides() {
    main().unwrap();
}
