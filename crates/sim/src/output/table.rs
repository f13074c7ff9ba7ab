//! Results as a table.

use std::fmt::Write as _;

use super::by_scenario;
use crate::measure::Outcome;

const COLUMNS: [&str; 15] = [
    "policy",
    "gap",
    "max/mean",
    "moves",
    "greedy",
    "load ratio",
    "rounds",
    "first s",
    "converged s",
    "twice",
    "splits",
    "placed",
    "cut off ms",
    "J",
    "decide ms",
];

pub(super) fn render(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for group in by_scenario(outcomes) {
        let Some(first) = group.first() else { continue };
        let _ = writeln!(
            text,
            "{}  seed {}: {} brokers, {} bundles, {:.0} min, lower bound {:.3}",
            first.scenario,
            first.seed,
            first.brokers,
            first.bundles,
            first.simulated_s / 60.0,
            first.lower_bound
        );
        let rows: Vec<[String; 15]> = group.iter().map(row).collect();
        let widths: [usize; 15] = std::array::from_fn(|column| {
            rows.iter().map(|row| row[column].chars().count()).fold(COLUMNS[column].len(), usize::max)
        });
        line(&mut text, &COLUMNS.map(str::to_owned), &widths);
        rows.iter().for_each(|row| line(&mut text, row, &widths));
        text.push('\n');
    }
    text
}

fn line(text: &mut String, cells: &[String; 15], widths: &[usize; 15]) {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let _ = if column == 0 { write!(line, "  {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

fn row(outcome: &Outcome) -> [String; 15] {
    let optional =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"));
    let mark = if outcome.complete { "" } else { " (cut short)" };
    [
        format!("{}{mark}", outcome.policy),
        format!("{:.3}", outcome.gap),
        format!("{:.3}", outcome.max_over_mean),
        outcome.moves.to_string(),
        outcome.greedy_moves.to_string(),
        optional(outcome.moved_load_ratio, 2),
        outcome.rounds.to_string(),
        optional(outcome.first_move_s, 0),
        optional(outcome.converged_s, 0),
        outcome.bundles_moved_twice.to_string(),
        outcome.splits.to_string(),
        outcome.placements.to_string(),
        format!("{:.1}", outcome.interruption_s * 1e3),
        format!("{:.5}", outcome.j),
        outcome.timing.map_or_else(
            || "-".to_owned(),
            |timing| format!("{:.2}/{:.2}", timing.decide_ms_p50, timing.decide_ms_max),
        ),
    ]
}
