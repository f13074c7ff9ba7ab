//! Who sets a value, which of them counts, and what is refused.

use std::time::Duration;

use plerion_config::{Origin, Problem, Problems, Settings, Sources, Warning};

fn file(text: &str) -> Sources {
    Sources::new().file("test.conf", text).expect("well formed")
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn refused(sources: Sources) -> Vec<Problem> {
    sources.resolve().expect_err("not valid").0
}

#[test]
fn command_line_goes_before_environment_before_file_before_default() {
    let environment = variables(&[
        ("PLERION_maxTenants", "3"),
        ("PULSAR_PREFIX_maxTenants", "2"),
        ("PULSAR_PREFIX_maxSubscriptionsPerTopic", "2"),
        ("PLERION_maxNamespacesPerTenant", "3"),
        ("PLERION_LOG", "debug"),
        ("maxTenants", "9"),
    ]);
    let sources = file("maxTenants=1\nmaxSubscriptionsPerTopic=1\nmaxNamespacesPerTenant=1\nmaxConsumersPerTopic=1")
        .argument("maxNamespacesPerTenant=4")
        .expect("an assignment")
        .environment(environment);
    let (settings, warnings) = sources.resolve().expect("valid");
    assert_eq!(warnings, []);
    assert_eq!(settings.cluster.max_tenants, Some(3));
    assert_eq!(settings.topics.max_subscriptions, Some(2));
    assert_eq!(settings.cluster.max_namespaces_per_tenant, Some(4));
    assert_eq!(settings.topics.max_consumers, Some(1));
    assert_eq!(settings.topics.max_producers, None);

    assert_eq!(settings.origin("maxTenants"), Some(&Origin::Environment("PLERION_maxTenants".into())));
    assert_eq!(settings.origin("maxNamespacesPerTenant"), Some(&Origin::Argument));
    assert_eq!(settings.origin("maxConsumersPerTopic"), Some(&Origin::File { name: "test.conf".into(), line: 4 }));
    assert_eq!(settings.origin("maxProducersPerTopic"), Some(&Origin::Default));
}

#[test]
fn the_last_setting_of_a_file_counts_and_blanks_are_dropped() {
    let (settings, _) = file("keepAliveIntervalSeconds=1\nkeepAliveIntervalSeconds = 7  \n").resolve().expect("valid");
    assert_eq!(settings.network.keep_alive_interval, Duration::from_secs(7));
    assert_eq!(settings.value("keepAliveIntervalSeconds"), Some("7"));
    assert_eq!(settings.value("zookeeperServers"), None);
    assert!(settings.values().any(|value| value == ("keepAliveIntervalSeconds", "7")));
}

#[test]
fn nothing_is_the_default_unless_it_is_a_value_of_its_own() {
    let text = "managedLedgerCacheSizeMB=\nallowAutoTopicCreation= \nbindAddress=\nwebServicePort=\nsubscriptionTypesEnabled=\nmaxUnackedMessagesPerConsumer=";
    let (settings, _) = file(text).resolve().expect("valid");
    let defaults = Settings::default();
    assert_eq!(settings.storage, defaults.storage);
    assert_eq!(settings.topics, defaults.topics);
    assert_eq!(settings.network.bind_address, "127.0.0.1");
    assert_eq!(settings.value("managedLedgerCacheSizeMB"), Some("128"));
    assert_eq!(settings.network.web_port, None);
    assert_eq!(settings.subscriptions, defaults.subscriptions);
}

#[test]
fn a_key_of_pulsars_without_effect_is_a_warning() {
    let (settings, warnings) = file("zookeeperServers=a:2181\ndbStorage_rocksDB_blockSize=1").resolve().expect("valid");
    assert_eq!(settings, Settings::default());
    let keys: Vec<_> = warnings.iter().map(|Warning::NoEffect { key, .. }| key.as_str()).collect();
    assert_eq!(keys, ["zookeeperServers", "dbStorage_rocksDB_blockSize"]);
    assert_eq!(warnings[0].to_string(), "test.conf, line 1: zookeeperServers is accepted, but has no effect");
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let problems = refused(file("webservicePort=8081\nfoo=1"));
    assert_eq!(problems.len(), 2);
    let text = Problems(problems).to_string();
    assert!(
        text.starts_with("test.conf, line 1: no such key: webservicePort; did you mean webServicePort or"),
        "{text}"
    );
    assert!(text.ends_with("\ntest.conf, line 2: no such key: foo"), "{text}");
}

#[test]
fn every_bad_value_says_what_would_be_right() {
    let text = Problems(refused(file(
        "brokerServicePort=99999\nallowAutoTopicCreation=yes\nbrokerDeleteInactiveTopicsMode=drop\n\
         defaultNumPartitions=0\nadvertisedListeners=a=b",
    )))
    .to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    for expected in [
        "test.conf, line 1: brokerServicePort = `99999` is not valid: it takes a port from 1 to 65535",
        "line 2: allowAutoTopicCreation = `yes` is not valid: it takes true or false",
        "it takes delete_when_no_subscriptions | delete_when_subscriptions_caught_up",
        "defaultNumPartitions = `0` is not valid: it takes a whole number from 1 to 100000",
        "LISTENER:SCHEME://HOST:PORT",
    ] {
        assert!(lines.iter().any(|line| line.contains(expected)), "{expected}\nnot in\n{text}");
    }
}

#[test]
fn protection_that_cannot_be_given_is_refused_instead_of_passed_over() {
    for (key, value, harmless) in [
        ("authenticationEnabled", "true", "false"),
        ("authorizationEnabled", "TRUE", "False"),
        ("brokerServicePortTls", "6651", " "),
        ("transactionCoordinatorEnabled", "true", "false"),
    ] {
        let problems = refused(Sources::new().set(key, value));
        assert!(matches!(&problems[..], [Problem::Unsupported { key: k, .. }] if *k == key), "{problems:?}");
        Sources::new().set(key, harmless).resolve().expect("asks for nothing");
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let problems = refused(file("managedLedgerMinLedgerRolloverTimeMinutes=300\ninternalListenerName=inner"));
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|problem| matches!(problem, Problem::Conflict(_))));
}

#[test]
fn what_is_no_assignment_or_no_properties_file_is_refused() {
    for text in ["maxTenants", "=1", ""] {
        let problem = Sources::new().argument(text).expect_err(text);
        assert_eq!(problem, Problem::NotAnAssignment(text.into()));
    }
    let (settings, _) =
        Sources::new().argument("advertisedListeners=a:pulsar://h:1").expect("ok").resolve().expect("ok");
    assert_eq!(settings.network.advertised_listeners.len(), 1);
    let problem = Sources::new().file("bad.conf", "a=1\nb=\\u00").expect_err("malformed");
    assert!(problem.to_string().starts_with("bad.conf, line 2: \\u must be followed by four"), "{problem}");
}

/// A key of Pulsar's that changes nothing here is taken, so that its files work, and whoever set it is told.
#[test]
fn keys_that_nothing_honours_are_named_at_the_start() {
    for key in [
        "brokerMaxConnectionsPerIp",
        "maxTopicsPerNamespace",
        "maxSameAddressProducersPerTopic",
        "subscriptionExpirationTimeMinutes",
        "dispatchThrottlingRatePerTopicInMsg",
        "brokerServiceCompactionThresholdInBytes",
    ] {
        let (_, warnings) = file(&format!("{key}=5")).resolve().expect("valid");
        let [warning] = &warnings[..] else { panic!("{key}: {warnings:?}") };
        assert_eq!(warning.to_string(), format!("test.conf, line 1: {key} is accepted, but has no effect"));
    }
}
