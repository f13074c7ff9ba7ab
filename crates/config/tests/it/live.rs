//! Changing settings while the broker runs.

use plerion_config::{LiveSettings, Origin, Problem, Settings, Sources, TopicType};

#[test]
fn a_dynamic_setting_changes_and_changes_back() {
    let (settings, _) = Sources::new().set("defaultNumPartitions", "2").resolve().expect("valid");
    let live = LiveSettings::new(settings);
    let before = live.current();
    live.set("defaultNumPartitions", " 5 ").expect("dynamic");
    live.set("allowAutoTopicCreationType", "partitioned").expect("dynamic");

    let now = live.current();
    assert_eq!((before.topics.default_partitions, now.topics.default_partitions), (2, 5));
    assert_eq!(now.topics.auto_create_type, TopicType::Partitioned);
    assert_eq!(now.origin("defaultNumPartitions"), Some(&Origin::Runtime));
    let overrides: Vec<_> = live.overrides().into_iter().collect();
    assert_eq!(
        overrides,
        [("allowAutoTopicCreationType", "partitioned".to_owned()), ("defaultNumPartitions", "5".to_owned()),]
    );

    let reset = live.reset("defaultNumPartitions").expect("dynamic");
    assert_eq!(reset.topics.default_partitions, 2);
    assert_eq!(reset.topics.auto_create_type, TopicType::Partitioned);
    live.reset("defaultNumPartitions").expect("nothing to take back is fine");
}

#[test]
fn a_change_that_is_not_valid_changes_nothing() {
    let live = LiveSettings::new(Settings::default());
    assert!(matches!(
        &live.set("defaultNumPartitions", "0").expect_err("out of range").0[..],
        [Problem::BadValue { origin: Origin::Runtime, .. }]
    ));
    for fixed in ["brokerServicePort", "zookeeperServers"] {
        let problems = live.set(fixed, "1").expect_err("not dynamic").0;
        assert_eq!(problems, [Problem::NotDynamic(fixed.into())]);
    }
    let problems = live.set("maxTenant", "1").expect_err("unknown").0;
    assert!(
        matches!(&problems[..], [Problem::Unknown { nearest, .. }] if nearest.contains(&"maxTenants")),
        "{problems:?}"
    );
    assert_eq!(*live.current(), Settings::default());
    assert!(live.overrides().is_empty());
}
