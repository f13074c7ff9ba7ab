//! Results as comma-separated values.

use serde_json::Value;

use crate::measure::Outcome;

/// One line for each result, under the names that the JSON form has.
pub(super) fn render(outcomes: &[Outcome]) -> String {
    let rows: Vec<Vec<(String, String)>> = outcomes.iter().map(cells).collect();
    let Some(first) = rows.iter().max_by_key(|row| row.len()) else { return String::new() };
    let mut text = first.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(",") + "\n";
    for row in &rows {
        text += &row.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

fn cells(outcome: &Outcome) -> Vec<(String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(outcome) else { return Vec::new() };
    fields
        .into_iter()
        .flat_map(|(name, value)| match value {
            Value::Object(inner) => inner.into_iter().collect::<Vec<_>>(),
            other => vec![(name, other)],
        })
        .map(|(name, value)| (name, cell(&value)))
        .collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
