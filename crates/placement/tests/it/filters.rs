//! Filters of both managers against `filters.json`.

use std::collections::BTreeMap;

use plerion_placement::filter::{
    AntiAffinity, AntiAffinityFilter, BrokerFacts, BrokerFilter, ClassFilter, Cluster, EvenBundlesFilter, FilterError,
    FilterRequest, IsolationFilter, IsolationPolicies, IsolationPolicy, MaxTopicsFilter, VersionFilter, count_bundles,
    count_namespaces, may_unload,
};
use plerion_placement::{BrokerId, BundleName, Settings};
use serde_json::{Value, json};

use crate::fixture::{Tally, list, load, text};

/// A cluster written down for a test.
#[derive(Default)]
struct Facts<'a>(BTreeMap<BrokerId, BrokerFacts<'a>>);

impl Cluster for Facts<'_> {
    fn facts(&self, broker: &BrokerId) -> Option<BrokerFacts<'_>> {
        self.0.get(broker).copied()
    }
}

/// The parts of a request that cases vary.
struct Scene<'a> {
    bundle: BundleName,
    non_persistent: bool,
    cluster: Facts<'a>,
    isolation: IsolationPolicies,
    group_counts: Option<BTreeMap<BrokerId, u32>>,
    domains: Option<BTreeMap<BrokerId, String>>,
    namespace_bundles: BTreeMap<BrokerId, u32>,
    load_manager_class: &'a str,
    settings: Settings,
}

impl Default for Scene<'_> {
    fn default() -> Self {
        Self {
            bundle: "t/n/0x00000000_0xffffffff".into(),
            non_persistent: false,
            cluster: Facts::default(),
            isolation: IsolationPolicies::default(),
            group_counts: None,
            domains: None,
            namespace_bundles: BTreeMap::new(),
            load_manager_class: "",
            settings: Settings::default(),
        }
    }
}

impl Scene<'_> {
    fn filter(&self, filter: &dyn BrokerFilter, candidates: &[BrokerId]) -> Result<Vec<BrokerId>, FilterError> {
        let request = FilterRequest {
            bundle: &self.bundle,
            non_persistent: self.non_persistent,
            cluster: &self.cluster,
            isolation: &self.isolation,
            group_counts: self.group_counts.as_ref(),
            domains: self.domains.as_ref(),
            namespace_bundles: &self.namespace_bundles,
            load_manager_class: self.load_manager_class,
            settings: &self.settings,
        };
        let mut left = candidates.to_vec();
        filter.apply(&request, &mut left).map(|()| left)
    }
}

fn brokers(value: &Value) -> Vec<BrokerId> {
    value.as_array().unwrap().iter().map(|id| id.as_str().unwrap().into()).collect()
}

fn numbered(count: usize) -> Vec<BrokerId> {
    (0..count).map(|i| format!("b{i}:8080").into()).collect()
}

#[test]
fn replay() {
    let file = load("filters");
    let mut tally = Tally::of("filters");
    let mut run = 0;
    type Check = fn(&Value, &mut Tally);
    let sections: [(&str, Check); 6] = [
        ("version", version),
        ("load_manager_class", load_manager_class),
        ("max_topics", max_topics),
        ("isolation", isolation),
        ("even", even),
        ("anti_affinity", anti_affinity),
    ];
    for (name, check) in sections {
        for case in list(&file, name) {
            check(case, &mut tally);
            run += 1;
        }
    }
    assert_eq!(run, 55 + 2 + 40 + 70 + 44 + 90);
    tally.finish(run, 0);
}

fn version(case: &Value, tally: &mut Tally) {
    let versions = list(case, "versions");
    let ids = numbered(versions.len());
    let facts = |version: &'static str| BrokerFacts { version: Some(version), ..BrokerFacts::default() };
    let leaked = |version: &Value| version.as_str().map(|text| &*text.to_owned().leak());
    let scene = Scene {
        cluster: Facts(
            ids.iter()
                .cloned()
                .zip(versions.iter().map(|version| leaked(version).map(facts).unwrap_or_default()))
                .collect(),
        ),
        settings: Settings { prefer_later_versions: case["preferLaterVersions"] == true, ..Settings::default() },
        ..Scene::default()
    };
    let result = scene.filter(&VersionFilter, &ids);
    if versions.is_empty() {
        // Upstream's Modular manager fails on no candidates and then goes back to all of them, which are none.
        assert!(case.get("modularError").is_some());
        assert_eq!(json!(result.unwrap()), case["extensible"]);
        return tally.ours();
    }
    for manager in ["modular", "extensible"] {
        match (&result, case.get(format!("{manager}Error").as_str())) {
            (Err(FilterError::Version { broker, .. }), Some(message)) => {
                assert!(message.as_str().unwrap().contains(&**broker), "{case}");
            }
            (result, _) => assert_eq!(json!(result.as_ref().unwrap()), case[manager], "{case}"),
        }
    }
    tally.equal();
}

fn load_manager_class(case: &Value, tally: &mut Tally) {
    let classes = list(case, "classes");
    let mut ids = numbered(classes.len());
    let facts = |class: &'_ Value| BrokerFacts {
        load_manager_class: class.as_str().map(|text| &*text.to_owned().leak()),
        ..BrokerFacts::default()
    };
    let scene = Scene {
        cluster: Facts(ids.iter().cloned().zip(classes.iter().map(facts)).collect()),
        load_manager_class: text(case, "loadManagerClassName"),
        ..Scene::default()
    };
    assert_eq!(json!(scene.filter(&ClassFilter::EXTENSIBLE, &ids).unwrap()), case["extensible"]);
    ids.push("b9:8080".into());
    assert_eq!(json!(scene.filter(&ClassFilter::MODULAR, &ids).unwrap()), case["modular"]);
    tally.equal();
}

fn max_topics(case: &Value, tally: &mut Tally) {
    let entries = list(case, "brokers");
    let ids: Vec<BrokerId> = entries.iter().map(|entry| entry[0].as_str().unwrap().into()).collect();
    let facts = |entry: &Value| BrokerFacts {
        topics: entry[1].as_u64().unwrap_or(0),
        incoming_topics: entry[2].as_u64().unwrap(),
        ..BrokerFacts::default()
    };
    let scene = Scene {
        cluster: Facts(ids.iter().cloned().zip(entries.iter().map(facts)).collect()),
        settings: Settings { load_balancer_broker_max_topics: case["limit"].as_u64().unwrap(), ..Settings::default() },
        ..Scene::default()
    };
    assert_eq!(json!(scene.filter(&MaxTopicsFilter::EXTENSIBLE, &ids).unwrap()), case["extensible"], "{case}");
    assert_eq!(json!(scene.filter(&MaxTopicsFilter::MODULAR, &ids).unwrap()), case["modular"], "{case}");
    tally.equal();
}

fn isolation(case: &Value, tally: &mut Tally) {
    let policy = |(name, policy): (&String, &Value)| {
        let parameters = json!({"min_limit": policy["min_limit"]});
        let data = json!({
            "namespaces": policy["namespaces"], "primary": policy["primary"], "secondary": policy["secondary"],
            "auto_failover_policy": {"policy_type": "min_available", "parameters": parameters},
        });
        IsolationPolicy::new(name, &serde_json::from_value(data).unwrap()).unwrap()
    };
    let ids = brokers(&case["brokers"]);
    let off = |field: &str, broker: &BrokerId| brokers(&case[field]).contains(broker);
    let facts = |broker: &BrokerId| BrokerFacts {
        persistent: !off("persistentOff", broker),
        non_persistent: !off("nonPersistentOff", broker),
        ..BrokerFacts::default()
    };
    let namespace = text(case, "namespace");
    let scene = Scene {
        bundle: format!("{namespace}/0x00000000_0xffffffff").into(),
        non_persistent: case["nonPersistentBundle"] == true,
        cluster: Facts(ids.iter().map(|id| (id.clone(), facts(id))).collect()),
        isolation: IsolationPolicies::new(case["policies"].as_object().unwrap().iter().map(policy).collect()),
        ..Scene::default()
    };
    assert_eq!(scene.isolation.of(namespace).is_some(), case["policyPresent"], "{case}");
    let mut left = scene.filter(&IsolationFilter, &ids).unwrap();
    left.sort();
    assert_eq!(json!(left), case["candidates"], "{case}");
    tally.equal();
}

fn even(case: &Value, tally: &mut Tally) {
    let counts = case["bundlesOfNamespace"].as_object().unwrap();
    let count = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let ids: Vec<BrokerId> = counts.keys().map(|id| id.as_str().into()).collect();
    let scene =
        Scene { namespace_bundles: ids.iter().cloned().zip(counts.values().map(count)).collect(), ..Scene::default() };
    let mut left = scene.filter(&EvenBundlesFilter, &ids).unwrap();
    left.sort();
    assert_eq!(json!(left), case["left"], "{case}");
    tally.equal();
}

fn anti_affinity(case: &Value, tally: &mut Tally) {
    let groups = case["groups"].as_object().unwrap().iter();
    let anti_affinity = AntiAffinity::new(groups.map(|(namespace, group)| (namespace, group.as_str().unwrap())));
    let owned: Vec<(BundleName, BrokerId)> = list(case, "owned")
        .iter()
        .filter(|entry| entry[1] == "Owned")
        .map(|entry| (entry[0].as_str().unwrap().into(), entry[2].as_str().unwrap().into()))
        .collect();
    let owned = || owned.iter().map(|(bundle, broker)| (bundle, broker));
    let bundle: BundleName = text(case, "bundle").into();
    let counts = [count_namespaces(&bundle, &anti_affinity, owned()), count_bundles(&bundle, &anti_affinity, owned())];
    let candidates = brokers(&case["candidates"]);
    let domains: BTreeMap<BrokerId, String> = serde_json::from_value(case["domains"].clone()).unwrap();
    let domains = (case["failureDomainsEnabled"] == true).then_some(domains);
    for (i, (manager, field)) in [("modular", "countModular"), ("extensible", "countExtensible")].iter().enumerate() {
        assert_eq!(json!(counts[i]), case[*field], "{case}");
        let scene = Scene { group_counts: counts[i].clone(), domains: domains.clone(), ..Scene::default() };
        assert_eq!(json!(scene.filter(&AntiAffinityFilter, &candidates).unwrap()), case[*manager], "{case}");
        for (broker, expect) in case["mayUnload"].as_object().unwrap() {
            let from = broker.as_str().into();
            assert_eq!(may_unload(counts[i].as_ref(), &from, &candidates), expect[i], "{manager} {broker} {case}");
        }
    }
    tally.equal();
}
