//! Results for people and for programs.

mod chart;
mod compare;
mod csv;
mod html;
mod table;

pub use compare::{losses, matrix};
pub use html::page;

use crate::measure::Outcome;

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for each scenario.
    #[default]
    Table,
    /// One object for each scenario and policy, in an array.
    Json,
    /// One line for each scenario and policy.
    Csv,
}

/// The results in this format.
#[must_use]
pub fn render(outcomes: &[Outcome], format: Format) -> String {
    match format {
        Format::Table => table::render(outcomes),
        Format::Json => serde_json::to_string_pretty(outcomes).unwrap_or_default() + "\n",
        Format::Csv => csv::render(outcomes),
    }
}

/// The results of one scenario after the other.
fn by_scenario(outcomes: &[Outcome]) -> impl Iterator<Item = &[Outcome]> {
    outcomes.chunk_by(|a, b| a.scenario == b.scenario && a.seed == b.seed)
}
