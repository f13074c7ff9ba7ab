//! Reading the recordings and counting what was compared.

use std::io::Read;
use std::path::PathBuf;

use serde_json::Value;

/// The recording `tests/fixtures/<name>.json.gz`.
pub(crate) fn load(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.json.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a gzip file of UTF-8 text");
    serde_json::from_str(&text).expect("JSON")
}

/// What a replay compared. Every case of a file ends in exactly one of the counts.
pub(crate) struct Tally {
    file: &'static str,
    equal: usize,
    differs: usize,
    ours: usize,
}

impl Tally {
    pub(crate) fn of(file: &'static str) -> Self {
        Self { file, equal: 0, differs: 0, ours: 0 }
    }

    /// The case gave what was recorded.
    pub(crate) fn equal(&mut self) {
        self.equal += 1;
    }

    /// The recording marks the case as one whose result is not wanted; our own value was asserted.
    pub(crate) fn differs(&mut self) {
        self.differs += 1;
    }

    /// The recording does not mark the case, yet our value is another one, for the reason the test gives.
    pub(crate) fn ours(&mut self) {
        self.ours += 1;
    }

    /// Prints the counts and checks them.
    pub(crate) fn finish(self, run: usize, differs: usize) {
        let Self { file, equal, differs: marked, ours } = self;
        let skipped = run as isize - (equal + marked + ours) as isize;
        println!("{file}: run {run}, equal {equal}, differs {marked} (+ {ours} by our own choice), skipped {skipped}");
        assert_eq!(skipped, 0, "{file}: cases left out");
        assert_eq!(marked, differs, "{file}: cases marked as different");
    }
}

/// The elements of an array field.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("{field} is a list in {value}"))
}

/// A text field.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is a text in {value}"))
}

/// A number, with the texts Java writes for what JSON lacks.
pub(crate) fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("NaN") => f64::NAN,
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap_or_else(|| panic!("{value} is a number")),
    }
}

/// Equal within the relative 1e-9 that a different order of addition may cost.
pub(crate) fn close(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-300)
}
