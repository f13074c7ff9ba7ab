//! Names as Pulsar 4.0 parses, derives and refuses them.

use plerion_resources::names::{Domain, InvalidName, NamespaceName, TopicName, url};
use plerion_resources::topic_list::{TopicPattern, hash};
use serde_json::Value;

fn cases(section: &str) -> Vec<Value> {
    let recorded: Value = serde_json::from_str(include_str!("../fixtures/names.json")).unwrap();
    recorded[section].as_array().unwrap().clone()
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} of {case}"))
}

#[test]
fn topic_names() {
    for case in cases("topic_names") {
        let input = text(&case, "input");
        let parsed = input.parse::<TopicName>();
        if case.get("differs").is_some() {
            let refused = "Invalid topic name: persistent://t/n/. Topic local name must not be blank.";
            assert_eq!(parsed, Err(InvalidName(refused.to_owned())));
            continue;
        }
        if case.get("error").is_some() {
            assert_eq!(parsed, Err(InvalidName(text(&case, "message").to_owned())), "{input:?}");
            continue;
        }
        let topic = parsed.unwrap();
        assert_eq!(topic.as_str(), text(&case, "name"), "{input:?}");
        assert_eq!(topic.domain().as_str(), text(&case, "domain"));
        assert_eq!(topic.is_persistent(), case["persistent"].as_bool().unwrap());
        assert_eq!(topic.tenant(), text(&case, "tenant"));
        assert_eq!(topic.namespace().as_str(), text(&case, "namespace"));
        assert_eq!(topic.namespace().cluster(), case.get("cluster").and_then(Value::as_str));
        assert_eq!(topic.local_name(), text(&case, "local"));
        assert_eq!(topic.encoded_local_name(), text(&case, "encodedLocal"));
        assert_eq!(topic.partition_index().map_or(-1, i64::from), case["partitionIndex"].as_i64().unwrap());
        assert_eq!(topic.base_name(), text(&case, "base"));
        assert_eq!(topic.base().as_str(), topic.base_name());
        assert_eq!(topic.base(), topic.base_name().parse().unwrap());
        assert_eq!(topic.base().partition_index(), topic.base_name().parse::<TopicName>().unwrap().partition_index());
        assert_eq!(topic.log_name(), text(&case, "ledgerName"));
        assert_eq!(topic.lookup_name(), text(&case, "lookupName"));
        assert_eq!(topic.lookup_name(), text(&case, "restPath"));
        assert_eq!(topic.schema_name(), text(&case, "schemaName"));
        assert_eq!(topic.is_system(), case["systemTopic"].as_bool().unwrap(), "{input:?}");
        assert_eq!(TopicName::from_log_name(&topic.log_name()).unwrap(), topic);
    }
}

#[test]
fn namespace_names() {
    for case in cases("namespace_names") {
        let Some(input) = case["input"].as_str() else { continue };
        let parsed = input.parse::<NamespaceName>();
        if case.get("error").is_some() {
            assert_eq!(parsed, Err(InvalidName(text(&case, "message").to_owned())), "{input:?}");
            continue;
        }
        let namespace = parsed.unwrap();
        // One namespace has one name, so slashes at its end are dropped.
        assert_eq!(namespace.as_str(), text(&case, "name").trim_end_matches('/'));
        assert_eq!(namespace.tenant(), text(&case, "tenant"));
        assert_eq!(namespace.cluster(), case.get("cluster").and_then(Value::as_str));
        assert_eq!(namespace.local_name(), text(&case, "local"));
        assert_eq!(namespace.is_sla_or_heartbeat(), case["slaOrHeartbeat"].as_bool().unwrap(), "{input}");
        assert_eq!(namespace.is_system_service(), case["systemService"].as_bool().unwrap(), "{input}");
        assert_eq!(namespace.sla_broker(), case["slaBroker"].as_str());
        let heartbeat = case["heartbeatV1Broker"].as_str().or_else(|| case["heartbeatV2Broker"].as_str());
        assert_eq!(namespace.heartbeat_broker(), heartbeat);
    }
}

#[test]
fn partitions() {
    for case in cases("get_partition") {
        let (topic, index) = (case[0].as_str().unwrap(), case[1].as_i64().unwrap());
        let Ok(index) = u32::try_from(index) else { continue };
        let partition = topic.parse::<TopicName>().unwrap().partition(index);
        assert_eq!(partition.as_str(), case[2].as_str().unwrap());
        assert_eq!(partition.partition_index(), Some(index));
        assert_eq!(partition, partition.as_str().parse().unwrap());
    }
}

#[test]
fn log_names() {
    for case in cases("ledger_names") {
        let (name, parsed) = (text(&case, "ledgerName"), TopicName::from_log_name(text(&case, "ledgerName")));
        match case.get("message") {
            Some(message) => assert_eq!(parsed, Err(InvalidName(message.as_str().unwrap().to_owned()))),
            None if name.is_empty() => assert!(parsed.is_err()),
            None => assert_eq!(parsed.unwrap().as_str(), text(&case, "topic")),
        }
    }
}

#[test]
fn url_coding() {
    for case in cases("codec") {
        assert_eq!(url::encode(case[0].as_str().unwrap()), case[1].as_str().unwrap());
        assert_eq!(url::decode(case[1].as_str().unwrap()).unwrap(), case[2].as_str().unwrap());
    }
}

#[test]
fn list_hashes() {
    for case in cases("list_hash") {
        let topics: Vec<&str> =
            case["topics"].as_array().unwrap().iter().map(|topic| topic.as_str().unwrap()).collect();
        assert_eq!(hash(&topics), text(&case, "hash"), "{topics:?}");
    }
}

#[test]
fn patterns() {
    let topics = cases("filter_original");
    for case in cases("filter") {
        match TopicPattern::new(text(&case, "regex")) {
            Ok(pattern) => {
                let matched: Vec<_> =
                    topics.iter().filter(|topic| pattern.matches(topic.as_str().unwrap())).cloned().collect();
                assert_eq!(&matched, case["matched"].as_array().unwrap(), "{case}");
            }
            Err(error) => assert_eq!(error.0, text(&case, "message")),
        }
    }
    for case in cases("remove_scheme") {
        match case[3].as_str() {
            Some(message) => assert_eq!(TopicPattern::new(case[0].as_str().unwrap()).unwrap_err().0, message),
            None => assert!(TopicPattern::new(case[0].as_str().unwrap()).is_ok()),
        }
    }
}

#[test]
fn a_topic_is_made_of_its_parts() {
    let namespace: NamespaceName = "t/n".parse().unwrap();
    let topic = TopicName::new(Domain::NonPersistent, &namespace, "a b").unwrap();
    assert_eq!((topic.as_str(), topic.namespace()), ("non-persistent://t/n/a b", &namespace));
    // One full name is one topic, however it came about.
    let slashed = TopicName::new(Domain::Persistent, &namespace, "a/b").unwrap();
    assert_eq!(slashed.namespace().as_str(), "t/n/a");
    assert!(TopicName::new(Domain::Persistent, &namespace, " ").is_err());
}
