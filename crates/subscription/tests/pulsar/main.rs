//! Replays what the classes of Apache Pulsar 4.0.7 answered.

mod draining;
mod keys;
mod selectors;

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The fixture file `name`.
fn load(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("fixtures are JSON")
}

fn cases<'v>(file: &'v Value, name: &str) -> &'v [Value] {
    let cases = file[name].as_array().expect("a list of cases");
    assert!(!cases.is_empty(), "{name} has no cases");
    cases
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// `[[a, b, c], …]` as rows.
fn rows(value: &Value) -> Vec<Vec<i64>> {
    value.as_array().map_or_else(Vec::new, |rows| {
        rows.iter().map(|row| row.as_array().expect("a row").iter().map(int).collect()).collect()
    })
}
