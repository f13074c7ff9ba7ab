//! What a run comes to.

use std::collections::BTreeMap;

use serde::Serialize;

use super::greedy::{Snapshot, greedy_moves};
use super::series::{Sample, Series};

/// What moving counts in J: 1 % of utilisation above the bound all the time weighs as much as moving half of the load once
/// an hour.
pub(crate) const LAMBDA: f64 = 0.02;

/// Gap within which a cluster counts as balanced.
const TARGET: f64 = 1.02;

/// For so many seconds the gap is averaged, and has to stay within the target.
const WINDOW: f64 = 600.0;

/// Excess load below this share of all load says nothing about how much was moved for it.
const WORTH_COMPARING: f64 = 0.05;

/// What happened in a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) moves: u32,
    /// Moves before the first thing that happens to the cluster.
    pub(crate) moves_before: u32,
    /// How often each bundle was moved.
    pub(crate) moved: BTreeMap<u32, u32>,
    pub(crate) rounds: u32,
    pub(crate) splits: u32,
    pub(crate) placements: u32,
    /// Of the resource that was scarcest at the first move.
    pub(crate) moved_amount: f64,
    /// As a share of all load.
    pub(crate) moved_share: f64,
    /// Seconds that a client was cut off, on average over the clients.
    pub(crate) interruption: f64,
    pub(crate) first_move: Option<f64>,
    /// The end of the last move.
    pub(crate) last_move: Option<f64>,
    /// The cluster before the first move.
    pub(crate) before: Option<Snapshot>,
    pub(crate) decide_ms: Vec<f64>,
    pub(crate) bytes_per_bundle: Option<f64>,
}

/// What a policy made of a scenario. `docs/balancing.md` explains every figure.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Name of the policy.
    pub policy: String,
    /// Seed.
    pub seed: u64,
    /// Name of the scenario.
    pub scenario: String,
    /// Brokers at the end.
    pub brokers: usize,
    /// Bundles at the end.
    pub bundles: usize,
    /// Greatest utilisation over its lower bound, mean of ten minutes after the last move.
    pub gap: f64,
    /// Greatest utilisation over the mean one, in the same minutes.
    pub max_over_mean: f64,
    /// Moves.
    pub moves: u32,
    /// Load moved over the least load that had to move; none where next to nothing had to.
    pub moved_load_ratio: Option<f64>,
    /// Moves that an all-knowing greedy needs from the cluster before the first move for what was reached.
    pub greedy_moves: u32,
    /// Cycles that moved something.
    pub rounds: u32,
    /// Seconds from the first thing that happens (or the start) to the first move that relieves a busy broker.
    pub first_move_s: Option<f64>,
    /// Bundles that were moved more than once.
    pub bundles_moved_twice: usize,
    /// Mean utilisation above the bound, plus what moving costs. The lower the better.
    pub j: f64,
    /// Lower bound of the greatest utilisation, mean of the same minutes as the gap.
    pub lower_bound: f64,
    /// Seconds from the first thing that happens until the gap stays within 1.02 for ten minutes without a move.
    pub converged_s: Option<f64>,
    /// Moves before the first thing that happens to the cluster.
    pub moves_before: u32,
    /// Splits.
    pub splits: u32,
    /// Bundles placed because they had no owner.
    pub placements: u32,
    /// Load moved, as a share of all load.
    pub moved_load: f64,
    /// Seconds that a client was cut off by moves, on average.
    pub interruption_s: f64,
    /// Memory of the policy for a bundle; none where nobody counts.
    pub bytes_per_bundle: Option<f64>,
    /// Seconds that were simulated.
    pub simulated_s: f64,
    /// Whether the run was not cut short.
    pub complete: bool,
    /// Times on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// Times on this machine.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Timing {
    /// Median of the leader's cycles.
    pub decide_ms_p50: f64,
    /// The longest of them.
    pub decide_ms_max: f64,
}

/// Who ran, and where.
pub(crate) struct Label {
    pub(crate) policy: String,
    pub(crate) scenario: String,
    pub(crate) seed: u64,
    pub(crate) brokers: usize,
    pub(crate) bundles: usize,
    pub(crate) duration: f64,
    /// When something first happens.
    pub(crate) disturbed: f64,
}

pub(crate) fn score(label: Label, tally: &Tally, series: &Series) -> Outcome {
    let simulated = series.samples.last().map_or(0.0, |sample| sample.at);
    let window = window(&series.samples, tally.last_move);
    let mean = |of: &dyn Fn(&Sample) -> f64| mean(window.iter().map(of));
    let gap = mean(&|sample| ratio(sample.peak, sample.bound));
    let compared = tally.before.as_ref().map(|before| (before, before.bound.level * gap.max(TARGET)));
    let moved_load_ratio = compared.and_then(|(before, level)| {
        let excess = before.excess(level);
        (excess >= WORTH_COMPARING * before.total()).then(|| tally.moved_amount / excess)
    });
    let excess = integral(&series.samples, |sample| (sample.felt_peak - sample.bound).max(0.0));
    let hours = (simulated / 3_600.0).max(1e-9);
    Outcome {
        policy: label.policy,
        seed: label.seed,
        scenario: label.scenario,
        brokers: label.brokers,
        bundles: label.bundles,
        gap,
        max_over_mean: mean(&|sample| ratio(sample.peak, sample.mean)),
        moves: tally.moves,
        moved_load_ratio,
        greedy_moves: compared.map_or(0, |(before, level)| greedy_moves(before, level)),
        rounds: tally.rounds,
        first_move_s: tally.first_move.map(|at| at - label.disturbed),
        bundles_moved_twice: tally.moved.values().filter(|times| **times > 1).count(),
        j: excess + LAMBDA * (tally.moved_share + tally.interruption) / hours,
        lower_bound: mean(&|sample| sample.bound),
        converged_s: converged(&series.samples, label.disturbed),
        moves_before: tally.moves_before,
        splits: tally.splits,
        placements: tally.placements,
        moved_load: tally.moved_share,
        interruption_s: tally.interruption,
        bytes_per_bundle: tally.bytes_per_bundle,
        simulated_s: simulated,
        complete: simulated >= label.duration,
        timing: timing(&tally.decide_ms),
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

#[expect(clippy::cast_precision_loss, reason = "samples are few")]
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// The ten minutes after the last move, or the last ten minutes where there are not as many, or no move.
fn window(samples: &[Sample], last_move: Option<f64>) -> &[Sample] {
    let end = samples.last().map_or(0.0, |sample| sample.at);
    let from = last_move.unwrap_or(end).min(end - WINDOW);
    let first = samples.partition_point(|sample| sample.at <= from);
    let last = samples.partition_point(|sample| sample.at <= from + WINDOW);
    &samples[first..last]
}

/// The mean over time, each sample standing for the time since the one before.
fn integral(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let (mut sum, mut before) = (0.0, 0.0);
    for sample in samples {
        sum += of(sample) * (sample.at - before);
        before = sample.at;
    }
    if before > 0.0 { sum / before } else { 0.0 }
}

fn converged(samples: &[Sample], disturbed: f64) -> Option<f64> {
    let mut since: Option<Sample> = None;
    for sample in samples.iter().filter(|sample| sample.at >= disturbed) {
        let holds = ratio(sample.peak, sample.bound) <= TARGET;
        match since {
            Some(start) if holds && start.moves == sample.moves => {
                if sample.at - start.at >= WINDOW {
                    return Some(start.at - disturbed);
                }
            }
            _ => since = holds.then_some(*sample),
        }
    }
    None
}

fn timing(decide_ms: &[f64]) -> Option<Timing> {
    let mut sorted = decide_ms.to_vec();
    sorted.sort_by(f64::total_cmp);
    let decide_ms_max = *sorted.last()?;
    Some(Timing { decide_ms_p50: sorted[sorted.len() / 2], decide_ms_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(peaks: &[(f64, f64, u32)]) -> Series {
        let sample =
            |&(at, peak, moves): &(f64, f64, u32)| Sample { at, peak, felt_peak: peak, mean: 0.5, bound: 0.5, moves };
        Series { samples: peaks.iter().map(sample).collect(), hosts: Vec::new() }
    }

    fn label(duration: f64) -> Label {
        let (policy, scenario) = (String::new(), String::new());
        Label { policy, scenario, seed: 1, brokers: 2, bundles: 10, duration, disturbed: 0.0 }
    }

    #[test]
    fn j_is_the_excess_over_time_and_what_moving_costs() {
        // Half an hour 0.1 above the bound, half an hour at it.
        let series = samples(&[(1_800.0, 0.6, 0), (3_600.0, 0.5, 1)]);
        let still = score(label(3_600.0), &Tally::default(), &series);
        assert!((still.j - 0.05).abs() < 1e-12);
        let tally = Tally { moved_share: 0.25, interruption: 0.05, ..Tally::default() };
        let moving = score(label(3_600.0), &tally, &series);
        assert!((moving.j - still.j - LAMBDA * 0.3).abs() < 1e-12);
        assert!(moving.complete && !score(label(3_601.0), &tally, &series).complete);
    }

    #[test]
    fn being_below_the_bound_earns_nothing() {
        let series = samples(&[(60.0, 0.3, 0), (120.0, 0.7, 0)]);
        assert!((score(label(120.0), &Tally::default(), &series).j - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_gap_is_that_of_ten_minutes_after_the_last_move() {
        let minutes: Vec<(f64, f64, u32)> = (1..=60)
            .map(|minute| match minute {
                1..=5 => (f64::from(minute) * 60.0, 1.0, 0),
                6..=15 => (f64::from(minute) * 60.0, 0.505, 1),
                _ => (f64::from(minute) * 60.0, 0.8, 1),
            })
            .collect();
        let tally = Tally { moves: 1, last_move: Some(300.0), ..Tally::default() };
        let outcome = score(label(3_600.0), &tally, &samples(&minutes));
        assert!((outcome.gap - 1.01).abs() < 1e-9, "{}", outcome.gap);
        assert_eq!(outcome.converged_s, None, "nine minutes are not ten");
        let unmoved = score(label(3_600.0), &Tally::default(), &samples(&minutes));
        assert!((unmoved.gap - 1.6).abs() < 1e-9, "without a move the last ten minutes count");
    }

    #[test]
    fn converged_is_when_ten_quiet_minutes_begin() {
        let quiet: Vec<(f64, f64, u32)> = (1..=30).map(|minute| (f64::from(minute) * 60.0, 0.5, 1)).collect();
        assert_eq!(score(label(1_800.0), &Tally::default(), &samples(&quiet)).converged_s, Some(60.0));
        let moving: Vec<(f64, f64, u32)> = (1..=30).map(|minute| (f64::from(minute) * 60.0, 0.5, minute / 5)).collect();
        assert_eq!(score(label(1_800.0), &Tally::default(), &samples(&moving)).converged_s, None);
    }
}
