//! The outcome of choosing a broker.

use rand::{Rng, RngCore};
use serde::{Deserialize, Serialize};

use crate::names::BrokerId;

/// The broker a placement chose, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The broker; `None` if there was no candidate.
    pub broker: Option<BrokerId>,
    /// The equally good brokers it was picked from.
    pub best: Vec<BrokerId>,
    /// What each candidate was judged by; empty for placements that take turns.
    pub scores: Vec<Score>,
}

/// What a candidate was judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The candidate.
    pub broker: BrokerId,
    /// The lower the better.
    pub score: f64,
    /// What decided about the candidate.
    pub rule: ScoreRule,
}

/// What can be said of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScoreRule {
    /// Its score counts.
    Scored,
    /// It is above the overload threshold.
    Overloaded,
    /// It has not reported.
    NoReport,
}

/// One of `best`, each with the same chance.
pub(crate) fn pick(best: &[BrokerId], rng: &mut dyn RngCore) -> Option<BrokerId> {
    match best {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(several[rng.random_range(0..several.len())].clone()),
    }
}

/// The scored candidates that are below the mean by `margin`; all candidates if there is none.
pub(crate) fn below_average(scores: &[Score], margin: f64) -> Vec<BrokerId> {
    let scored = || scores.iter().filter(|score| score.rule == ScoreRule::Scored);
    let mean = scored().map(|score| score.score).sum::<f64>() / scored().count() as f64;
    let best: Vec<BrokerId> =
        scored().filter(|score| score.score + margin <= mean).map(|score| score.broker.clone()).collect();
    if best.is_empty() { scores.iter().map(|score| score.broker.clone()).collect() } else { best }
}
