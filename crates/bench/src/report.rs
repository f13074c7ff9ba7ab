//! The figures of a scenario.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::latency::Latencies;

/// What was asked for and what came of it.
#[derive(Debug)]
pub(crate) struct Report {
    scenario: &'static str,
    settings: Map<String, Value>,
    figures: Map<String, Value>,
    latencies: Map<String, Value>,
}

impl Report {
    pub(crate) fn new(scenario: &'static str) -> Self {
        Self { scenario, settings: Map::new(), figures: Map::new(), latencies: Map::new() }
    }

    pub(crate) fn setting(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// A figure, rounded to three decimals.
    pub(crate) fn figure(mut self, name: &str, value: f64) -> Self {
        let rounded = (value * 1000.0).round() / 1000.0;
        // Whole numbers are told as such.
        let value = if rounded.fract() == 0.0 && rounded.abs() < 9e15 { json!(rounded as i64) } else { json!(rounded) };
        self.figures.insert(name.into(), value);
        self
    }

    /// A distribution, left out if it is empty.
    pub(crate) fn latency(mut self, name: &str, latencies: &Latencies) -> Self {
        if let Some(summary) = latencies.summary() {
            self.latencies.insert(name.into(), json!(summary));
        }
        self
    }

    /// One JSON object and a line break. Latencies are in milliseconds.
    pub(crate) fn json(&self) -> String {
        let object = json!({
            "scenario": self.scenario,
            "settings": self.settings,
            "figures": self.figures,
            "latency_ms": self.latencies,
        });
        format!("{object}\n")
    }

    /// For people to read.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(self.scenario);
        for (name, value) in &self.settings {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(text, " {name}={value}");
        }
        text.push('\n');
        for (name, value) in &self.figures {
            let _ = writeln!(text, "  {:<22} {value}", name.replace('_', " "));
        }
        for (name, summary) in &self.latencies {
            let _ = write!(text, "  {:<22}", format!("{} ms", name.replace('_', " ")));
            for (quantile, label) in [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max")]
            {
                let _ = write!(text, " {label} {:.3}", summary[quantile].as_f64().unwrap_or_default());
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn report() -> Report {
        let mut latencies = Latencies::default();
        latencies.record(Duration::from_micros(1500));
        Report::new("publish")
            .setting("size", 1024)
            .figure("messages", 12.0)
            .figure("messages_per_second", 1234.56789)
            .latency("publish", &latencies)
            .latency("none", &Latencies::default())
    }

    #[test]
    fn json_holds_every_figure() {
        let parsed: Value = serde_json::from_str(&report().json()).expect("valid JSON");
        assert_eq!(parsed["settings"]["size"], 1024);
        assert_eq!(parsed["figures"], json!({"messages": 12, "messages_per_second": 1234.568}));
        assert!((parsed["latency_ms"]["publish"]["p50"].as_f64().expect("a number") - 1.5).abs() < 0.002);
        assert!(parsed["latency_ms"].get("none").is_none());
    }

    #[test]
    fn text_is_a_line_a_figure() {
        let text = report().text();
        assert!(text.starts_with("publish size=1024\n"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }
}
