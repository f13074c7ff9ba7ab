//! The handbook explains every figure the laboratory prints.

use std::path::Path;

use plerion_sim::output::{Format, render};

use crate::support::simulated;

const SCENARIO: &str = "duration = \"1m\"\n[[hosts]]\ncount = 2\n[bundles]\ncount = 10\n";

fn handbook() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/balancing.md")).unwrap()
}

#[test]
fn every_figure_has_an_entry() {
    let handbook = handbook();
    let outcome = serde_json::to_value(simulated(SCENARIO, "threshold", 1).outcome).unwrap();
    let mut missing: Vec<String> = Vec::new();
    for (name, value) in outcome.as_object().unwrap() {
        let names = match value.as_object() {
            Some(inner) => inner.keys().cloned().collect(),
            None => vec![name.clone()],
        };
        missing.extend(names.into_iter().filter(|name| !handbook.contains(&format!("| `{name}` |"))));
    }
    assert!(missing.is_empty(), "without an entry in docs/balancing.md: {missing:?}");
}

#[test]
fn every_column_of_the_table_has_an_entry() {
    let handbook = handbook();
    let table = render(&[simulated(SCENARIO, "threshold", 1).outcome], Format::Table);
    let heading = table.lines().nth(1).unwrap();
    for column in heading.split("  ").map(str::trim).filter(|column| !column.is_empty()) {
        assert!(handbook.contains(&format!("**{column}**")), "{column:?} has no entry in docs/balancing.md");
    }
}

#[test]
fn every_shipped_scenario_is_described() {
    let handbook = handbook();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(handbook.contains(&format!("`{name}`")), "{name} is not in docs/balancing.md");
    }
}

/// The variants of the enums in the source of `explain`, which is where decisions get their names.
fn decision_reasons() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../placement/src/explain.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let mut reasons = Vec::new();
    for of_one in source.split("pub enum ").skip(1) {
        let body = of_one.split("\n}").next().unwrap_or_default();
        let variants = body.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
        reasons.extend(variants.filter(|name| name.chars().all(char::is_alphanumeric)).map(str::to_owned));
    }
    reasons
}

#[test]
fn every_decision_reason_has_an_entry() {
    let reasons = decision_reasons();
    assert!(["Balanced", "Sheds", "NoDestination"].iter().all(|known| reasons.iter().any(|name| name == known)));
    let handbook = handbook();
    let missing: Vec<&String> = reasons.iter().filter(|name| !handbook.contains(&format!("| `{name}` |"))).collect();
    assert!(missing.is_empty(), "without an entry in docs/balancing.md: {missing:?}");
}
