//! Recorded load of a real cluster.

use std::collections::HashMap;
use std::path::Path;

use super::Root;
use super::vector::{CPU, IN, MEMORY, OUT};
use crate::scenario::ScenarioError;

const COLUMNS: [&str; 7] = ["seconds", "bundle", "broker", "rate_in", "rate_out", "bytes_in", "bytes_out"];

/// One line: what a bundle does from a moment on.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) at: f64,
    pub(super) root: u32,
    pub(super) rates: [f64; 2],
    pub(super) bytes: [f64; 2],
}

/// The lines of a trace and how far they have been followed.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    lines: std::sync::Arc<[Line]>,
    next: usize,
    /// Bundle names, and the host each starts on.
    pub(super) bundles: Vec<(String, u32)>,
    /// Cores that a message, and memory that a byte per second takes, by root.
    pub(super) costs: Vec<[f64; 2]>,
}

impl Trace {
    pub(super) fn read(path: &Path) -> Result<Self, ScenarioError> {
        let unreadable = |cause: csv::Error| match cause.into_kind() {
            csv::ErrorKind::Io(cause) => ScenarioError::Unreadable { path: path.to_owned(), cause },
            other => ScenarioError::Trace { path: path.to_owned(), line: 1, message: format!("{other:?}") },
        };
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_path(path).map_err(unreadable)?;
        let wrong = |line: u64, message: String| ScenarioError::Trace { path: path.to_owned(), line, message };
        let headers = reader.headers().map_err(unreadable)?;
        if headers.iter().ne(COLUMNS) {
            let found = headers.iter().collect::<Vec<_>>().join(",");
            return Err(wrong(1, format!("the columns are {found}: write {}", COLUMNS.join(","))));
        }
        let mut bundles: Vec<(String, u32)> = Vec::new();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut lines: Vec<Line> = Vec::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != COLUMNS.len() {
                return Err(wrong(line, format!("{} values: write {}", record.len(), COLUMNS.len())));
            }
            let number = |column: usize| -> Result<f64, ScenarioError> {
                let text = &record[column];
                text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0).ok_or_else(|| {
                    wrong(line, format!("{} is {text:?}: write a number of at least 0", COLUMNS[column]))
                })
            };
            let at = number(0)?;
            if lines.last().is_some_and(|last| last.at > at) {
                return Err(wrong(line, "the lines are not sorted by seconds".to_owned()));
            }
            let host: u32 = record[2]
                .parse()
                .map_err(|_| wrong(line, format!("broker is {:?}: write a number of a host, from 0", &record[2])))?;
            let name = &record[1];
            let root = match known.get(name) {
                Some(root) => *root,
                None => {
                    let root = u32::try_from(bundles.len()).unwrap_or(u32::MAX);
                    known.insert(name.to_owned(), root);
                    bundles.push((name.to_owned(), host));
                    root
                }
            };
            let (rates, bytes) = ([number(3)?, number(4)?], [number(5)?, number(6)?]);
            lines.push(Line { at, root, rates, bytes });
        }
        if lines.is_empty() {
            return Err(wrong(2, "there is no load in it: write at least one line".to_owned()));
        }
        Ok(Self { lines: lines.into(), next: 0, costs: Vec::new(), bundles })
    }

    /// The first line of every bundle.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &Line> {
        let mut seen = vec![false; self.bundles.len()];
        self.lines.iter().filter(move |line| !std::mem::replace(&mut seen[line.root as usize], true))
    }

    /// Follows the trace up to `now`. Returns whether any load changed.
    pub(super) fn advance(&mut self, now: f64, roots: &mut [Root]) -> bool {
        let before = self.next;
        while let Some(line) = self.lines.get(self.next).filter(|line| line.at <= now) {
            self.next += 1;
            let root = &mut roots[line.root as usize];
            let [cpu, memory] = self.costs[line.root as usize];
            root.rates = line.rates;
            let bytes: f64 = line.bytes.iter().sum();
            root.base.0[CPU] = cpu * line.rates.iter().sum::<f64>();
            (root.base.0[IN], root.base.0[OUT]) = (line.bytes[0], line.bytes[1]);
            root.base.0[MEMORY] = memory * bytes;
        }
        self.next != before
    }
}
