//! Who is best at what.

use std::fmt::Write as _;

use super::by_scenario;
use crate::measure::Outcome;

/// J below this difference is a draw.
const DRAW: f64 = 1e-9;

/// J of every policy on every scenario, and the gap in brackets. Empty for a single scenario.
#[must_use]
pub fn matrix(outcomes: &[Outcome]) -> String {
    let groups: Vec<&[Outcome]> = by_scenario(outcomes).collect();
    let [first, _, ..] = groups.as_slice() else { return String::new() };
    let mut text = "| scenario |".to_owned();
    for outcome in first.iter() {
        let _ = write!(text, " {} |", outcome.policy);
    }
    text += "\n|---|";
    first.iter().for_each(|_| text += "---|");
    text.push('\n');
    for group in groups {
        let name = group.first().map_or("", |outcome| &outcome.scenario);
        let _ = write!(text, "| {name} |");
        for outcome in group {
            let _ = write!(text, " {:.4} ({:.2}) |", outcome.j, outcome.gap);
        }
        text.push('\n');
    }
    text + "\n"
}

/// On how many scenarios the first policy has the lowest J, and every one on which it has not.
#[must_use]
pub fn losses(outcomes: &[Outcome]) -> String {
    let (mut scenarios, mut lost, mut text) = (0, 0, String::new());
    let mut name = "";
    for group in by_scenario(outcomes) {
        let Some((first, others)) = group.split_first() else { continue };
        let Some(best) = others.iter().min_by(|a, b| a.j.total_cmp(&b.j)) else { continue };
        scenarios += 1;
        name = &first.policy;
        if first.j > best.j + DRAW {
            lost += 1;
            let _ = writeln!(
                text,
                "  {} seed {}: {} has J {:.5} (gap {:.3}), {} has {:.5} (gap {:.3})",
                first.scenario, first.seed, first.policy, first.j, first.gap, best.policy, best.j, best.gap
            );
        }
    }
    if scenarios == 0 {
        return String::new();
    }
    let summary = format!("{name} has the lowest J on {} of {scenarios} scenarios\n", scenarios - lost);
    if lost > 0 { format!("{summary}not on:\n{text}") } else { summary }
}
