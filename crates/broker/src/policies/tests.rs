use serde_json::json;

use super::*;

fn own(policies: serde_json::Value) -> TopicPolicies {
    serde_json::from_value(policies).unwrap()
}

#[test]
fn a_topic_follows_itself_before_its_namespace() {
    let namespace: Policies = serde_json::from_value(json!({
        "max_producers_per_topic": 5, "max_consumers_per_topic": 6, "max_subscriptions_per_topic": 7,
        "message_ttl_in_seconds": 60, "deduplicationEnabled": true, "encryption_required": true,
        "schema_validation_enforced": true,
        "retention_policies": {"retentionTimeInMinutes": 1, "retentionSizeInMB": 2},
        "autoSubscriptionCreationOverride": {"allowAutoSubscriptionCreation": false},
    }))
    .unwrap();
    let both = Overrides {
        max_producers: Some(5),
        max_consumers: Some(6),
        max_subscriptions: Some(7),
        message_ttl: Some(Duration::from_secs(60)),
        deduplication: Some(true),
        encryption_required: Some(true),
        enforce_schema: Some(true),
        retention: Some(Retention { minutes: 1, megabytes: 2 }),
        auto_create_subscription: Some(false),
        ..Overrides::default()
    };
    assert_eq!(overrides(&TopicPolicies::new(), &namespace), both);
    let topic = own(json!({
        "maxProducers": 0, "messageTTL": 0, "deduplicationEnabled": false, "maxUnackedMessagesOnConsumer": 3,
        "retention": {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1},
    }));
    let expected = Overrides {
        max_producers: Some(0),
        message_ttl: Some(Duration::ZERO),
        deduplication: Some(false),
        max_unacked_per_consumer: Some(3),
        retention: Some(Retention::FOREVER),
        ..both
    };
    assert_eq!(overrides(&topic, &namespace), expected);
}

#[test]
fn nothing_is_overridden_where_nothing_is_set_or_understood() {
    assert_eq!(overrides(&TopicPolicies::new(), &Policies::default()), Overrides::default());
    let nonsense = own(json!({"maxProducers": "many", "retention": 5, "deduplicationEnabled": null}));
    assert_eq!(overrides(&nonsense, &Policies::default()), Overrides::default());
}

#[test]
fn a_negative_limit_is_none_and_a_huge_one_is_huge() {
    let topic = own(json!({"maxProducers": -1, "maxConsumers": i64::MAX}));
    let read = overrides(&topic, &Policies::default());
    assert_eq!((read.max_producers, read.max_consumers), (Some(0), Some(u32::MAX)));
}

#[test]
fn a_row_concerns_its_topics() {
    let topic = |name: &str| name.parse::<TopicName>().unwrap();
    let of_topic = Scope::of("/admin/topic-policies/a/b/persistent/t%2F1");
    assert!(of_topic.includes(&topic("persistent://a/b/t/1-partition-3")));
    assert!(!of_topic.includes(&topic("persistent://a/b/t")));
    for path in ["/admin/policies/a/b", "/admin/local-policies/a/b"] {
        let of_namespace = Scope::of(path);
        assert!(of_namespace.includes(&topic("persistent://a/b/t")));
        assert!(!of_namespace.includes(&topic("persistent://a/c/t")));
    }
    for path in ["/admin/policies/a", "/admin/policies", "/admin/topic-policies/a"] {
        assert_eq!(Scope::of(path), Scope::Everything);
    }
}
