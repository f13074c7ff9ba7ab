//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

/// Figures in the text format of Prometheus. Every name is written once, with all that goes by it.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// A figure that only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "counter", help);
        self.sample(name, "", value);
    }

    /// A figure that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }

    /// A distribution: `counts` has the number of values in each bucket, the last of which has no upper bound and so no
    /// place in `bounds`.
    pub fn histogram(&mut self, name: &str, help: &str, bounds: &[f64], counts: &[u64], sum: f64) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut up_to = 0;
        for (index, count) in counts.iter().enumerate() {
            up_to += count;
            let bound = bounds.get(index).map_or_else(|| "+Inf".to_owned(), ToString::to_string);
            self.sample(&bucket, &format!("le=\"{bound}\""), up_to);
        }
        self.sample(&format!("{name}_sum"), "", sum);
        self.sample(&format!("{name}_count"), "", up_to);
    }

    /// Begins a name of which samples follow.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// One figure; `labels` as [`labels`] writes them, or nothing.
    pub(crate) fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Labels as they are written between braces.
pub(crate) fn labels(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        for char in value.chars() {
            match char {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                other => text.push(other),
            }
        }
        text.push('"');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let mut text = Exposition::default();
        text.histogram("x_seconds", "Of x.", &[0.5, 1.0], &[3, 2, 1], 4.5);
        assert_eq!(
            text.into_text(),
            "# HELP x_seconds Of x.\n# TYPE x_seconds histogram\nx_seconds_bucket{le=\"0.5\"} 3\n\
             x_seconds_bucket{le=\"1\"} 5\nx_seconds_bucket{le=\"+Inf\"} 6\nx_seconds_sum 4.5\nx_seconds_count 6\n"
        );
    }

    #[test]
    fn label_values_are_escaped() {
        assert_eq!(labels(&[("a", "x\"y\\z\n"), ("b", "")]), r#"a="x\"y\\z\n",b="""#);
    }
}
