//! The owners of hashes: consistent hashing, auto-split and declared ranges.

use std::collections::BTreeMap;

use plerion_subscription::selector::{AssignError, Exclusive, Range, Ring, Selector, Split};
use serde_json::Value;

use super::{cases, int, load, rows, text};

fn table(ranges: &[Range]) -> Vec<Vec<i64>> {
    ranges.iter().map(|range| vec![range.start.into(), range.end.into(), range.owner.into()]).collect()
}

fn check_select(selector: &Selector, step: &Value, context: &str) {
    for pair in step["select"].as_array().expect("probes") {
        let owner = selector.select(int(&pair[0]) as u16).map(i64::from);
        assert_eq!(owner, pair[1].as_i64(), "owner of {} in {context}", pair[0]);
    }
}

fn owner(ranges: &[Range], hash: u32) -> Option<u32> {
    let range = ranges.get(ranges.partition_point(|range| range.end < hash))?;
    (range.start <= hash).then_some(range.owner)
}

/// Per consumer the ranges that are its own in `these` but not in `those`, neighbours joined.
fn difference(these: &[Range], those: &[Range]) -> BTreeMap<u32, Vec<(u32, u32)>> {
    let mut cuts: Vec<u32> = [these, those].into_iter().flatten().flat_map(|r| [r.start, r.end + 1]).collect();
    cuts.sort_unstable();
    let mut moved: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
        if let Some(own) = owner(these, pair[0])
            && owner(those, pair[0]) != Some(own)
        {
            push(moved.entry(own).or_default(), (pair[0], pair[1] - 1));
        }
    }
    moved
}

/// Appends a range, joined to the one before it where they meet.
fn push(ranges: &mut Vec<(u32, u32)>, (start, end): (u32, u32)) {
    match ranges.last_mut() {
        Some(last) if last.1 + 1 == start => last.1 = end,
        _ => ranges.push((start, end)),
    }
}

/// `[[consumer, [[start, end], …]], …]` as ranges per consumer, neighbours joined.
fn recorded(moved: &Value) -> BTreeMap<u32, Vec<(u32, u32)>> {
    let consumer = |entry: &Value| {
        let mut ranges = Vec::new();
        rows(&entry[1]).iter().for_each(|range| push(&mut ranges, (range[0] as u32, range[1] as u32)));
        (int(&entry[0]) as u32, ranges)
    };
    moved.as_array().expect("a list").iter().map(consumer).collect()
}

/// Compares what each consumer lost and won with what was recorded.
fn check_moves(before: &[Range], after: &[Range], step: &Value, context: &str) {
    if step.get("removed").is_some() {
        assert_eq!(difference(before, after), recorded(&step["removed"]), "lost by {context}");
        assert_eq!(difference(after, before), recorded(&step["added"]), "won by {context}");
    }
}

#[test]
fn consistent_hashing() {
    let file = load("key-shared.json");
    let cases = cases(&file, "consistent_hashing");
    let mut steps = 0;
    for case in cases {
        let range_max = int(&case["rangeMax"]) as u16;
        let mut selector = Selector::Ring(Ring::with_range(int(&case["points"]) as u32, range_max));
        for step in case["ops"].as_array().expect("steps") {
            let context = format!("{} at {:?} {:?}", case["id"], step.get("add"), step.get("remove"));
            let before = selector.ranges();
            match step.get("add") {
                Some(owner) => selector.add(int(owner) as u32, text(&step["name"]), None).expect("added"),
                None => selector.remove(int(&step["remove"]) as u32),
            }
            let after = selector.ranges();
            assert_eq!(table(&after), rows(&step["ranges"]), "ranges of {context}");
            check_moves(&before, &after, step, &context);
            check_select(&selector, step, &context);
            steps += 1;
        }
    }
    assert_eq!((cases.len(), steps), (30, 257));
}

#[test]
fn auto_split() {
    let file = load("key-shared.json");
    let cases = cases(&file, "auto_split");
    let mut steps = 0;
    for case in cases {
        let size = int(&case["rangeSize"]) as u32;
        let mut selector = Selector::Split(Split::with_size(size).expect("a power of two"));
        for step in case["ops"].as_array().expect("steps") {
            let context = format!("{} at {:?} {:?}", case["id"], step.get("add"), step.get("remove"));
            let before = selector.ranges();
            match step.get("add") {
                Some(owner) => {
                    let refused = selector.add(int(owner) as u32, "", None).err().map(|error| error.to_string());
                    assert_eq!(refused.as_deref(), step.get("message").map(text), "{context}");
                }
                None => selector.remove(int(&step["remove"]) as u32),
            }
            let after = selector.ranges();
            assert_eq!(table(&after), rows(&step["ranges"]), "ranges of {context}");
            check_moves(&before, &after, step, &context);
            check_select(&selector, step, &context);
            steps += 1;
        }
    }
    assert_eq!((cases.len(), steps), (40, 645));
}

#[test]
fn sizes_that_cannot_be_split() {
    let file = load("key-shared.json");
    for case in cases(&file, "constructor_errors") {
        // The exclusive selector takes no size here.
        let Some(size) = case[0].as_u64() else { continue };
        let refused = Split::with_size(size as u32).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), case[2].as_str(), "{case}");
    }
}

#[test]
fn declared_ranges() {
    let file = load("key-shared.json");
    let cases = cases(&file, "exclusive");
    let mut differing = 0;
    for case in cases {
        let mut selector = Selector::Exclusive(Exclusive::default());
        if case.get("differs").is_some() {
            differing += 1;
            for step in case["ops"].as_array().expect("steps") {
                let error = add(&mut selector, step).expect_err("out of bounds");
                assert!(matches!(error, AssignError::OutOfBounds(..)), "{}: {error}", case["id"]);
                assert_eq!(selector.ranges(), []);
            }
            continue;
        }
        let mut gone_when_checked = Vec::new();
        for step in case["ops"].as_array().expect("steps") {
            let context = format!("{} at {step}", case["id"]);
            match step.get("add") {
                None => selector.remove(int(&step["remove"]) as u32),
                Some(owner) => {
                    if step["goneOnLivenessCheck"] == true {
                        gone_when_checked.push(int(owner) as u32);
                    }
                    let mut removed = Vec::new();
                    let outcome = loop {
                        match add(&mut selector, step) {
                            Err(AssignError::Conflict(other)) if gone_when_checked.contains(&other) => {
                                selector.remove(other);
                                removed.push(i64::from(other));
                            }
                            outcome => break outcome,
                        }
                    };
                    removed.sort_unstable();
                    let expected = step
                        .get("removedByLivenessCheck")
                        .map_or_else(Vec::new, |list| list.as_array().expect("consumers").iter().map(int).collect());
                    assert_eq!(removed, expected, "found gone in {context}");
                    let message = outcome.err().map(|error| match error {
                        AssignError::Conflict(other) => format!("Range conflict with consumer consumer c{other}"),
                        error => error.to_string(),
                    });
                    assert_eq!(message.as_deref(), step.get("message").map(text), "{context}");
                }
            }
            assert_eq!(table(&selector.ranges()), rows(&step["map"]), "ranges of {context}");
            check_select(&selector, step, &context);
        }
    }
    assert_eq!((cases.len(), differing), (60, 3));
}

fn add(selector: &mut Selector, step: &Value) -> Result<(), AssignError> {
    let ranges: Option<Vec<(i32, i32)>> = step["ranges"]
        .is_array()
        .then(|| rows(&step["ranges"]).into_iter().map(|range| (range[0] as i32, range[1] as i32)).collect());
    selector.add(int(&step["add"]) as u32, "", ranges.as_deref())
}
