//! Defaults and dynamic flags are those of Pulsar 4.0.7, but for the differences named here.

use std::collections::BTreeMap;

use plerion_config::keys;
use serde_json::Value;

/// Keys of our own.
const OURS: &[&str] = &[
    "loadBalancerHeadroomWeightedPlacement",
    "dataDirectory",
    "listenOffLoopback",
    "storageJournals",
    "storageSegmentSizeMB",
];

/// Keys whose default differs, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("bindAddress", "loopback, as long as nothing protects the ports"),
    ("clusterName", "Pulsar's file for a standalone broker sets it"),
    ("numIOThreads", "depends on the machine in both"),
    ("maxMessagePublishBufferSizeInMB", "a fixed bound instead of half of the JVM's direct memory"),
    ("managedLedgerCacheSizeMB", "a fixed size instead of a fifth of the JVM's direct memory"),
];

/// Keys that are dynamic in Pulsar and fixed here, and why.
const FIXED: &[(&str, &str)] = &[("managedLedgerCacheSizeMB", "the cache is laid out at the start")];

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A form in which equal defaults are equal: sets sorted, `-1.0` like `-1`.
fn canonical(text: &str) -> String {
    let mut items: Vec<&str> = text.split(',').map(|item| item.strip_suffix(".0").unwrap_or(item)).collect();
    items.sort_unstable();
    items.join(",")
}

#[test]
fn defaults_and_dynamic_flags_are_pulsars() {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/config-defaults.json")).expect("valid JSON");
    let pulsar: BTreeMap<&str, &Value> = fixture["fields"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|field| (field[0].as_str().expect("a name"), field))
        .collect();
    for key in keys() {
        let Some(field) = pulsar.get(key.name) else {
            assert!(OURS.contains(&key.name), "{} is not one of Pulsar's", key.name);
            continue;
        };
        let same = canonical(&text(&field[2])) == canonical(key.default);
        let different = DIFFERENT.iter().any(|(name, _)| *name == key.name);
        assert_eq!(same, !different, "default of {}: Pulsar {}, here {}", key.name, field[2], key.default);
        let fixed = FIXED.iter().any(|(name, _)| *name == key.name);
        assert_eq!(key.dynamic, field[3] == true && !fixed, "dynamic flag of {}", key.name);
    }
}
