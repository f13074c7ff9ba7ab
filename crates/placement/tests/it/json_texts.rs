//! The JSON of stored records against `json-texts.json`.

use plerion_placement::bundle::Bundles;
use plerion_placement::load::{
    BrokerLoadData, BrokerLookupData, BundleData, BundleStats, FailureDomain, LeaderBroker, LoadReport,
    LocalBrokerData, LocalPolicies, NamespaceEphemeralData, NamespaceIsolationData, Report, ResourceQuota,
    TimeAverageBrokerData, TopBundles,
};
use plerion_placement::service_unit::ServiceUnitRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fixture::{Tally, list, load, number, text};

/// Reads a text and writes it again.
fn rewrite<T: DeserializeOwned + Serialize>(text: &str) -> Value {
    let read: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap()
}

#[test]
fn replay() {
    let file = load("json-texts");
    let mut tally = Tally::of("json-texts");
    let mut run = 0;
    for case in list(&file, "texts") {
        stored(case, &mut tally);
        run += 1;
    }
    for case in list(&file, "numbers") {
        let read: f64 = serde_json::from_str(case[1].as_str().unwrap()).unwrap();
        assert_eq!(read, number(&case[0]), "{case}");
        assert_eq!(serde_json::from_str::<f64>(&serde_json::to_string(&read).unwrap()).unwrap(), read);
        tally.equal();
        run += 1;
    }
    for case in list(&file, "reading") {
        reading(case);
        tally.equal();
        run += 1;
    }
    for case in list(&file, "report_type") {
        let json = match text(case, "json") {
            "as LocalBrokerData above" => text(&file["texts"][0], "json"),
            "as LoadReport above" => text(&file["texts"][6], "json"),
            json => json,
        };
        let class = match Report::from_json(json.as_bytes()).unwrap() {
            Report::Modular(_) => "LocalBrokerData",
            Report::Simple(_) => "LoadReport",
        };
        assert_eq!(class, text(case, "class"), "{case}");
        tally.equal();
        run += 1;
    }
    assert_eq!(run, 32 + 20 + 6 + 8);
    tally.finish(run, 0);
}

fn stored(case: &Value, tally: &mut Tally) {
    let json = text(case, "json");
    let written = match text(case, "class") {
        "LocalBrokerData" => rewrite::<LocalBrokerData>(json),
        "BundleData" => rewrite::<BundleData>(json),
        "TimeAverageBrokerData" => rewrite::<TimeAverageBrokerData>(json),
        "LoadReport" => rewrite::<LoadReport>(json),
        "NamespaceBundleStats" => rewrite::<BundleStats>(json),
        "BrokerLoadData" => rewrite::<BrokerLoadData>(json),
        "TopBundlesLoadData" => rewrite::<TopBundles>(json),
        "ServiceUnitStateData" => rewrite::<ServiceUnitRecord>(json),
        "BrokerLookupData" => rewrite::<BrokerLookupData>(json),
        "NamespaceEphemeralData" => rewrite::<NamespaceEphemeralData>(json),
        "LeaderBroker" => rewrite::<LeaderBroker>(json),
        "ResourceQuota" => rewrite::<ResourceQuota>(json),
        "LocalPolicies" => rewrite::<LocalPolicies>(json),
        "BundlesData" => rewrite::<Bundles>(json),
        "FailureDomainImpl" => rewrite::<FailureDomain>(json),
        "NamespaceIsolationDataImpl" => rewrite::<NamespaceIsolationData>(json),
        class => panic!("unknown class {class}"),
    };
    let mut expect: Value = serde_json::from_str(json).unwrap();
    let is_load_report = case["class"] == "LoadReport";
    if is_load_report {
        // Upstream repeats the message rates here; these are the bytes per second of the one bundle.
        expect["msgThroughputIn"] = Value::from(1_048_576.0);
        expect["msgThroughputOut"] = Value::from(12_345_678.9);
    }
    assert_eq!(written, expect, "{}", text(case, "name"));
    if is_load_report { tally.ours() } else { tally.equal() }
}

fn reading(case: &Value) {
    let read = serde_json::from_str::<ServiceUnitRecord>(text(case, "json"));
    let Some(result) = case.get("result") else {
        assert!(read.is_err(), "{case}");
        return;
    };
    let read = read.unwrap();
    let expect = result.as_str().unwrap();
    assert!(expect.contains(&format!("state={:?}, ", read.state)), "{case}");
    assert!(expect.contains(&format!("dstBroker={}, ", read.destination().unwrap_or("null"))), "{case}");
    assert!(expect.contains(&format!("sourceBroker={}, ", read.source().unwrap_or("null"))), "{case}");
    let tail = format!("force={}, timestamp={}, versionId={}]", read.force, read.timestamp, read.version_id);
    assert!(expect.ends_with(&tail), "{case}");
    let children = read.children.map(|children| {
        let text = |broker: Option<String>| broker.map_or_else(|| "empty".to_owned(), |broker| format!("[{broker}]"));
        children.into_iter().map(|(range, broker)| format!("{range} {}", text(broker))).collect::<Vec<_>>()
    });
    match children {
        None => assert!(expect.contains("splitServiceUnitToDestBroker=null"), "{case}"),
        Some(children) => {
            // Written 0x1_0x2 and 0x2_0x3.
            assert_eq!(children, ["0x00000001_0x00000002 empty", "0x00000002_0x00000003 [c]"]);
        }
    }
}
