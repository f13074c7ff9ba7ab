//! `channel-and-misc.json`: overrides, lookups and waiters of the state channel; the rest is in `simple`.

use plerion_placement::service_unit::{
    Lookup, Progress, ServiceUnitRecord, assigned_broker, lookup_owner, override_orphan, split_progress,
    unload_progress,
};
use serde_json::{Value, json};

use crate::fixture::{Tally, list, load, text};

fn record(value: &Value) -> Option<ServiceUnitRecord> {
    if value.is_null() {
        return None;
    }
    let children: Option<Value> = value["children"]
        .as_array()
        .map(|ranges| ranges.iter().map(|range| (range.as_str().unwrap().to_owned(), Value::Null)).collect());
    let json = json!({
        "state": value["state"], "dstBroker": value["dst"], "sourceBroker": value["src"],
        "splitServiceUnitToDestBroker": children, "force": value["force"], "versionId": value["versionId"],
    });
    Some(serde_json::from_value(json).unwrap())
}

#[test]
fn replay() {
    let file = load("channel-and-misc");
    let mut tally = Tally::of("channel-and-misc");
    let mut run = 0;
    for case in list(&file, "override") {
        let orphan = record(&case["orphan"]).unwrap();
        let graceful = case["gracefully"] == true;
        let ours = override_orphan(&orphan, case["selected"].as_str(), graceful, 0);
        assert_eq!(ours, record(&case["override"]).unwrap(), "{case}");
        tally.equal();
        run += 1;
    }
    for case in list(&file, "lookup") {
        lookup(case, &mut tally);
        run += 1;
    }
    for case in list(&file, "completion") {
        let record = record(&case["value"]);
        let failed = case["error"] == true;
        assert_eq!(progress(unload_progress(record.as_ref(), failed)), text(case, "unload"), "{case}");
        assert_eq!(progress(split_progress(record.as_ref(), failed)), text(case, "split"), "{case}");
        tally.equal();
        run += 1;
    }
    run += crate::simple::replay(&file, &mut tally);
    assert_eq!(run, 160 + 58 + 106 + 45 + 45 * 45 + 60);
    tally.finish(run, 6);
}

fn lookup(case: &Value, tally: &mut Tally) {
    let record = record(&case["value"]);
    let all = lookup_owner(record.as_ref(), "A", |_| true);
    let none = lookup_owner(record.as_ref(), "A", |_| false);
    let assigned = assigned_broker(record.as_ref());
    if case.get("differs").is_some() {
        // A record that should name a broker and does not: upstream a null pointer, here nobody owns the unit.
        assert_eq!((all, none, assigned), (Lookup::Unowned, Lookup::Unowned, None), "{case}");
        return tally.differs();
    }
    assert_eq!(answer(all), text(case, "all registered"), "{case}");
    assert_eq!(answer(none), text(case, "owner not registered"), "{case}");
    assert_eq!(assigned.unwrap_or("none"), text(case, "assigned"), "{case}");
    assert_eq!(all == Lookup::Broker("A"), case["isOwnerMe"], "{case}");
    tally.equal();
}

fn answer(lookup: Lookup<'_>) -> &str {
    match lookup {
        Lookup::Unowned => "none",
        Lookup::Broker(broker) => broker,
        Lookup::Pending => "pending",
        Lookup::Deleted => "error IllegalArgumentException: t/n/0x00000000_0x40000000 is deleted.",
    }
}

fn progress(progress: Progress) -> &'static str {
    match progress {
        Progress::Pending => "pending",
        Progress::Done => "done",
        Progress::Failed => "IllegalStateException: Failed stage.",
    }
}
