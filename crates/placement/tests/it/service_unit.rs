//! The successor rule against all 348 524 recorded cells of `service-unit-conflict-resolver.json`.

use plerion_placement::service_unit::{ServiceUnitRecord, ServiceUnitState, Storage, accept};
use serde_json::Value;

use crate::fixture::{Tally, list, load, text};

const STORAGES: [(&str, Storage); 2] =
    [("SystemTopic", Storage::SystemTopic), ("MetadataStore", Storage::MetadataStore)];

fn state(value: &Value) -> ServiceUnitState {
    serde_json::from_value(value.clone()).unwrap()
}

fn broker(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A record from `[state, destination, source]`; null is no record.
fn labelled(label: &Value, version: i64, force: bool) -> Option<ServiceUnitRecord> {
    if label.is_null() {
        return None;
    }
    let record = ServiceUnitRecord::new(state(&label[0]), broker(&label[1]), broker(&label[2]), 0, version).unwrap();
    Some(ServiceUnitRecord { force, ..record })
}

#[test]
fn replay() {
    let file = load("service-unit-conflict-resolver");
    let mut tally = Tally::of("service-unit-conflict-resolver");
    let mut run = 0;
    for table in list(&file, "tables") {
        run += replay_table(&file["labels"], table, &mut tally);
    }
    for vector in list(&file, "vectors") {
        let [from, to] = ["from", "to"].map(|side| {
            let value = &vector[side];
            let label = serde_json::json!([value["state"], value["dst"], value["src"]]);
            let version = value["versionId"].as_i64().unwrap_or(0);
            (!value.is_null()).then(|| labelled(&label, version, value["force"] == true).unwrap())
        });
        for (name, storage) in STORAGES {
            let keep = vector[format!("keepLeft_{name}").as_str()].as_bool().unwrap();
            assert_eq!(accept(from.as_ref(), to.as_ref(), storage), !keep, "{vector}");
        }
        run += 1;
        tally.equal();
    }
    for refused in list(&file, "constructor_errors") {
        let json = serde_json::json!({"state": refused[0], "dstBroker": refused[1], "sourceBroker": refused[2]});
        let error = serde_json::from_value::<ServiceUnitRecord>(json).unwrap_err().to_string();
        if refused[0].is_string() {
            assert!(error.starts_with("Empty broker"), "{error}");
        }
        run += 1;
        tally.equal();
    }
    // 44 tables of 89 × 89 cells, 44 vectors, 25 refused values; 24 cells in each of the 10 tables that reach the check
    // of brokers fail upstream.
    assert_eq!(run, 348_524 + 44 + 25);
    tally.finish(run, 240);
}

fn replay_table(labels: &Value, table: &Value, tally: &mut Tally) -> usize {
    let storage = STORAGES.into_iter().find(|(name, _)| *name == text(table, "storage")).unwrap().1;
    let version = |side: &str| table[side].as_i64().unwrap();
    let record = |label: &Value, side: &str, force: bool| labelled(label, version(side), force);
    let labels = labels.as_array().unwrap();
    let from: Vec<_> = labels.iter().map(|label| record(label, "fromVersion", false)).collect();
    let to: Vec<_> = labels.iter().map(|label| record(label, "toVersion", table["toForce"] == true)).collect();
    for (row, from) in list(table, "rows").iter().zip(&from) {
        for (cell, to) in row.as_str().unwrap().bytes().zip(&to) {
            let accepted = accept(from.as_ref(), to.as_ref(), storage);
            match cell {
                b'A' | b'K' => {
                    assert_eq!(accepted, cell == b'A', "{from:?} -> {to:?} in {storage:?}");
                    tally.equal();
                }
                // A null pointer upstream: an owner that is nobody cannot have asked for this.
                b'E' => {
                    assert!(!accepted, "{from:?} -> {to:?}");
                    tally.differs();
                }
                other => panic!("cell {other}"),
            }
        }
    }
    from.len() * to.len()
}
