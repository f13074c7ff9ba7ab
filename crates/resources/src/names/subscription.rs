//! Rules for subscription names.

use super::InvalidName;

/// The cursor that keeps a topic's deduplication state.
pub const DEDUPLICATION: &str = "pulsar.dedup";
/// The cursor of a topic's compaction.
pub const COMPACTION: &str = "__compaction";
/// What the cursors of replicators begin with.
pub const REPLICATOR_PREFIX: &str = "pulsar.repl";

/// Whether the broker itself uses cursors of this name.
pub fn is_reserved(name: &str) -> bool {
    name == DEDUPLICATION || name == COMPACTION || name.starts_with(REPLICATOR_PREFIX)
}

/// Checks that a client may subscribe under `name`.
pub fn check(name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return Err(InvalidName("Empty subscription name".to_owned()));
    }
    if is_reserved(name) {
        return Err(InvalidName(format!("Subscription name '{name}' is reserved for the broker")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_and_empty_names_are_refused() {
        for name in ["", "pulsar.dedup", "__compaction", "pulsar.repl.us-east"] {
            assert!(check(name).is_err(), "{name}");
        }
        for name in ["a", "with/slash and space", "pulsar", "中"] {
            assert_eq!(check(name), Ok(()));
        }
    }
}
