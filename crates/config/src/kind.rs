//! The kinds of values a key can take: how a text becomes a typed value, and how the valid texts are described.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub(crate) mod address;
pub(crate) mod choice;
pub(crate) mod number;

#[cfg(test)]
mod tests;

/// A way to read a value.
pub(crate) trait Kind {
    /// What is read.
    type Value;

    /// What one of a numeric value stands for.
    const UNIT: Option<&'static str> = None;

    /// Whether an empty text is a value of its own; else it stands for the default.
    const TAKES_NOTHING: bool = false;

    /// Reads a text without surrounding blanks; `None` when it is not valid.
    fn parse(text: &str, within: Option<&RangeInclusive<i64>>) -> Option<Self::Value>;

    /// The valid texts, in words that follow "it takes".
    fn accepts(within: Option<&RangeInclusive<i64>>) -> String;
}

/// `true` or `false`, in any case, as Java reads them.
pub(crate) struct Switch;

impl Kind for Switch {
    type Value = bool;

    fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<bool> {
        match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
        "true or false".into()
    }
}

/// A path that is not empty.
pub(crate) struct Directory;

impl Kind for Directory {
    type Value = PathBuf;

    fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<PathBuf> {
        (!text.is_empty()).then(|| PathBuf::from(text))
    }

    fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
        "a directory".into()
    }
}

/// A name of letters, digits and `-`, `_`, `=`, `:`, `.`: what may stand in a resource path.
pub(crate) struct Name;

impl Kind for Name {
    type Value = String;

    fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_=:.".contains(c);
        (!text.is_empty() && text.chars().all(allowed)).then(|| text.to_owned())
    }

    fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
        "a name of letters, digits and - _ = : .".into()
    }
}

/// Which metadata store: only the embedded one.
pub(crate) struct EmbeddedStore;

impl Kind for EmbeddedStore {
    type Value = ();
    const TAKES_NOTHING: bool = true;

    fn parse(text: &str, _: Option<&RangeInclusive<i64>>) -> Option<()> {
        matches!(text, "" | "embedded:").then_some(())
    }

    fn accepts(_: Option<&RangeInclusive<i64>>) -> String {
        "nothing or `embedded:`, the store within the data directory".into()
    }
}

/// Any text of another kind, or nothing.
pub(crate) struct OrEmpty<K>(PhantomData<K>);

impl<K: Kind> Kind for OrEmpty<K> {
    type Value = Option<K::Value>;
    const UNIT: Option<&'static str> = K::UNIT;
    const TAKES_NOTHING: bool = true;

    fn parse(text: &str, within: Option<&RangeInclusive<i64>>) -> Option<Self::Value> {
        if text.is_empty() { Some(None) } else { K::parse(text, within).map(Some) }
    }

    fn accepts(within: Option<&RangeInclusive<i64>>) -> String {
        format!("{}, or nothing", K::accepts(within))
    }
}

/// A set of choices, at least one, separated by commas.
pub(crate) struct SetOf<K>(PhantomData<K>);

impl<K: Kind<Value: Ord>> Kind for SetOf<K> {
    type Value = BTreeSet<K::Value>;

    fn parse(text: &str, within: Option<&RangeInclusive<i64>>) -> Option<Self::Value> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let set: Option<Self::Value> = items.map(|item| K::parse(item, within)).collect();
        set.filter(|set| !set.is_empty())
    }

    fn accepts(within: Option<&RangeInclusive<i64>>) -> String {
        format!("a list, separated by commas, of {}", K::accepts(within))
    }
}
