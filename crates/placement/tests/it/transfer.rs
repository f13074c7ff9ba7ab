//! `TransferShedder` against `transfer-shedder.json`.

use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::explain::{Block, BundleRule, Move, Plan};
use plerion_placement::extensible::{ClusterLoad, TransferRules, TransferShedder};
use plerion_placement::load::{BrokerLoadData, BundleStats, TopBundle, TopBundles};
use plerion_placement::{BrokerId, BundleName, Settings};
use serde_json::{Value, json};

use crate::fixture::{Tally, close, list, load, number};

const NOW: i64 = 1_700_000_000_000;

/// Ownership and filters of a case.
struct Rules<'a>(&'a Value);

impl Rules<'_> {
    fn lists(&self, field: &str, text: &str) -> bool {
        self.0[field].as_array().into_iter().flatten().any(|entry| entry == text || entry == "*")
    }

    fn denies(&self, bundle: &BundleName, broker: &BrokerId) -> bool {
        let deny = &self.0["deny"];
        let brokers = deny.get(&**bundle).or_else(|| deny.get("*")).and_then(Value::as_array);
        brokers.into_iter().flatten().any(|entry| *entry == **broker || entry == "*")
    }

    fn is_available(&self, broker: &BrokerId) -> bool {
        match self.0["available"].as_array() {
            Some(available) => available.iter().any(|entry| *entry == **broker),
            None => true,
        }
    }
}

impl TransferRules for Rules<'_> {
    fn is_owner(&self, bundle: &BundleName, _broker: &BrokerId) -> bool {
        self.0["allNotOwned"] != true && !self.lists("notOwned", bundle)
    }

    fn may_transfer(&self, bundle: &BundleName, _from: &BrokerId, to: &BrokerId) -> Result<(), BundleRule> {
        if ["isolated", "antiAffinity", "deny", "filterFails"].iter().all(|field| self.0.get(field).is_none()) {
            return Ok(());
        }
        let policed = self.lists("isolated", bundle.namespace()) || self.lists("antiAffinity", bundle.namespace());
        if policed && self.0["conf"]["policiesEnabled"] != true {
            return Err(BundleRule::IsolationPolicy);
        }
        if self.lists("filterFails", bundle) || self.denies(bundle, to) || !self.is_available(to) {
            return Err(BundleRule::NoDestination);
        }
        Ok(())
    }
}

fn settings(conf: &Value) -> Settings {
    Settings {
        load_balancer_broker_load_target_std: number(&conf["targetStd"]),
        load_balancer_max_number_of_broker_shedding_per_cycle: conf["maxPairs"].as_u64().unwrap().try_into().unwrap(),
        load_balancer_transfer_enabled: conf["transfer"] == true,
        load_balancer_shedding_condition_hit_count_threshold: conf["hitThreshold"]
            .as_u64()
            .unwrap()
            .try_into()
            .unwrap(),
        load_balancer_broker_overloaded_threshold_percentage: number(&conf["overloadedPct"]),
        load_balancer_broker_load_data_ttl_in_seconds: conf["ttlSec"].as_i64().unwrap(),
        load_balance_shedding_delay_in_seconds: conf["delaySec"].as_i64().unwrap(),
        ..Settings::default()
    }
}

fn loads(case: &Value) -> BTreeMap<BrokerId, BrokerLoadData> {
    let load = |entry: &Value| BrokerLoadData {
        weighted_max_ema: number(&entry[1]),
        msg_throughput_in: number(&entry[2]),
        msg_throughput_out: number(&entry[3]),
        msg_throughput_ema: number(&entry[4]),
        updated_at: NOW - entry[5].as_i64().unwrap(),
        ..BrokerLoadData::default()
    };
    list(case, "brokers").iter().map(|entry| (entry[0].as_str().unwrap().into(), load(entry))).collect()
}

fn top_bundles(case: &Value) -> BTreeMap<BrokerId, TopBundles> {
    let bundle = |entry: &Value| TopBundle {
        bundle_name: entry[0].as_str().unwrap().into(),
        stats: BundleStats {
            msg_throughput_in: number(&entry[1]),
            msg_throughput_out: number(&entry[2]),
            ..BundleStats::default()
        },
    };
    let bundles = |list: &Value| list.as_array().unwrap().iter().map(bundle).collect();
    let top = case["top"].as_object().unwrap().iter();
    top.map(|(id, list)| (id.as_str().into(), TopBundles { top_bundles_load_data: bundles(list) })).collect()
}

#[test]
fn replay() {
    let file = load("transfer-shedder");
    let mut tally = Tally::of("transfer-shedder");
    let cases = list(&file, "cases");
    for case in cases {
        let differs = case.get("differs").is_some();
        let expect = list(case, if differs { "wanted" } else { "expect" });
        // Where ties decide, the recording holds the other order of the store as well.
        let reversed = case.get("expectReversedStore").filter(|_| !differs).and_then(Value::as_array);
        let mut shedder = TransferShedder::default();
        for bundle in case["recentBundles"].as_array().into_iter().flatten() {
            shedder.recent().bundles.insert(bundle.as_str().unwrap().into(), NOW);
        }
        for (id, age) in case["recentBrokers"].as_object().into_iter().flatten() {
            shedder.recent().brokers.insert(id.as_str().into(), NOW - age.as_i64().unwrap());
        }
        let (loads, top_bundles) = (loads(case), top_bundles(case));
        let available: BTreeSet<BrokerId> = match case["available"].as_array() {
            Some(available) => available.iter().map(|id| id.as_str().unwrap().into()).collect(),
            None => loads.keys().cloned().collect(),
        };
        let available = (case["registryFails"] != true).then_some(&available);
        let load = ClusterLoad { loads: &loads, top_bundles: &top_bundles, available };
        for (cycle, expect) in expect.iter().enumerate() {
            let plan = shedder.decide(&load, &Rules(case), NOW, &settings(&case["conf"]));
            let expect = match reversed {
                Some(reversed) if decisions(&plan) == reversed[cycle]["decisions"] => &reversed[cycle],
                _ => expect,
            };
            assert_cycle(&plan, &mut shedder, expect, &format!("{} cycle {cycle}", case["id"]));
        }
        if differs { tally.differs() } else { tally.equal() }
    }
    assert_eq!(cases.len(), 275);
    tally.finish(cases.len(), 74);
}

fn decisions(plan: &Plan) -> Value {
    let mut moves: Vec<&Move> = plan.moves.iter().collect();
    moves.sort_by_key(|m| (&m.from, &m.bundle, &m.to));
    let decision = |m: &&Move| json!([m.from, m.bundle, m.to, "Success", m.reason]);
    moves.iter().map(decision).collect()
}

fn assert_cycle(plan: &Plan, shedder: &mut TransferShedder, expect: &Value, at: &str) {
    assert_eq!(decisions(plan), expect["decisions"], "{at}");
    let breakdown = plan.explanation.blocked.map(Block::unload_breakdown);
    let counted: Vec<String> = breakdown.map(|(result, reason)| format!("{result}/{reason}")).into_iter().collect();
    assert_eq!(json!(counted), expect["counted"], "{at}");
    assert_eq!(shedder.hits(), expect["hit"], "{at}");
    let left: Vec<&BrokerId> = shedder.recent().brokers.keys().collect();
    assert_eq!(json!(left), expect["recentBrokersLeft"], "{at}");
    let limit = |name: &str| plan.explanation.limits.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
    let deviation = limit("standard deviation").unwrap_or(0.0);
    assert!(close(limit("average").unwrap_or(0.0), number(&expect["avg"])), "{at}");
    assert!(close(deviation, number(&expect["std"])), "{at} {deviation}");
    let after = limit("standard deviation after").unwrap_or(deviation);
    assert!(close(after, number(&expect["stdAfter"])), "{at} {after}");
    let moved: BTreeSet<&BundleName> = plan.moves.iter().map(|m| &m.bundle).collect();
    assert_eq!(moved.len(), plan.moves.len(), "{at}: a bundle moves twice");
}
