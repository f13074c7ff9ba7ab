//! Policies as the set-up scripts of client suites write them, and as clients read them.

use serde_json::json;

use super::*;

#[test]
fn a_request_with_few_keys_leaves_the_rest_unset() {
    let request = json!({
        "auth_policies": {"namespace_auth": {"anonymous": ["produce", "consume"]}},
        "replication_clusters": ["standalone"],
        "encryption_required": true,
    });
    let policies: Policies = serde_json::from_value(request).unwrap();
    assert_eq!(policies.auth_policies.namespace_auth["anonymous"], ["produce", "consume"]);
    assert!(policies.encryption_required);
    assert_eq!(policies.retention_policies, None);
    assert_eq!(policies.bundles, None);
}

#[test]
fn null_is_the_same_as_absent() {
    let request = json!({
        "auth_policies": {"namespace_auth": null, "destination_auth": null, "subscription_auth_roles": null},
        "replication_clusters": null, "bundles": {"boundaries": null, "numBundles": 4}, "backlog_quota_map": null,
        "topicDispatchRate": null, "publishMaxMessageRate": null, "clusterSubscribeRate": null, "persistence": null,
        "deleted": null, "encryption_required": null, "schema_validation_enforced": null, "properties": null,
        "message_ttl_in_seconds": null, "retention_policies": null,
    });
    let bundles = BundlesData { boundaries: Vec::new(), num_bundles: 4 };
    let expected = Policies { bundles: Some(bundles), ..Policies::default() };
    assert_eq!(serde_json::from_value::<Policies>(request).unwrap(), expected);
    assert_eq!(serde_json::from_value::<Policies>(json!({"auth_policies": null})).unwrap(), Policies::default());
}

#[test]
fn every_key_has_its_name() {
    let rate = json!({
        "dispatchThrottlingRateInMsg": 1, "dispatchThrottlingRateInByte": 2,
        "relativeToPublishRate": true, "ratePeriodInSecond": 3,
    });
    let stored = json!({
        "auth_policies": {
            "namespace_auth": {"a": ["produce"]},
            "destination_auth": {"persistent://t/n/x": {"a": ["consume"]}},
            "subscription_auth_roles": {"s": ["a"]},
        },
        "replication_clusters": ["standalone"],
        "bundles": {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1},
        "backlog_quota_map": {"destination_storage": {"limitSize": 9, "limitTime": -1, "policy": "producer_exception"}},
        "topicDispatchRate": {"standalone": rate},
        "subscriptionDispatchRate": {"standalone": rate},
        "replicatorDispatchRate": {"standalone": rate},
        "publishMaxMessageRate": {"standalone": {"publishThrottlingRateInMsg": 1, "publishThrottlingRateInByte": 2}},
        "clusterSubscribeRate": {"standalone": {"subscribeThrottlingRatePerConsumer": 1, "ratePeriodInSecond": 30}},
        "persistence": {
            "bookkeeperEnsemble": 1, "bookkeeperWriteQuorum": 1, "bookkeeperAckQuorum": 1,
            "managedLedgerMaxMarkDeleteRate": 0.5,
        },
        "deduplicationEnabled": true,
        "autoTopicCreationOverride": {
            "allowAutoTopicCreation": true, "topicType": "partitioned", "defaultNumPartitions": 3,
        },
        "autoSubscriptionCreationOverride": {"allowAutoSubscriptionCreation": false},
        "message_ttl_in_seconds": 60,
        "subscription_expiration_time_minutes": 5,
        "retention_policies": {"retentionTimeInMinutes": -1, "retentionSizeInMB": 100},
        "deleted": false,
        "encryption_required": false,
        "subscription_auth_mode": "Prefix",
        "max_producers_per_topic": 1,
        "max_consumers_per_topic": 2,
        "max_consumers_per_subscription": 3,
        "max_topics_per_namespace": 4,
        "max_unacked_messages_per_consumer": 5,
        "max_unacked_messages_per_subscription": 6,
        "compaction_threshold": 7,
        "offload_threshold": -1,
        "offload_deletion_lag_ms": 8,
        "inactive_topic_policies": {
            "inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 60,
            "deleteWhileInactive": true,
        },
        "schema_auto_update_compatibility_strategy": "Full",
        "schema_compatibility_strategy": "FORWARD",
        "is_allow_auto_update_schema": true,
        "schema_validation_enforced": true,
        "antiAffinityGroup": "g",
        "properties": {"k": "v"},
    });
    let policies: Policies = serde_json::from_value(stored.clone()).unwrap();
    assert!(policies.other.is_empty(), "{:?}", policies.other);
    assert!(policies.auth_policies.other.is_empty());
    assert_eq!(serde_json::to_value(&policies).unwrap(), stored);
}

#[test]
fn unknown_keys_are_kept() {
    let stored = json!({
        "auth_policies": {"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}, "new": 1},
        "replication_clusters": [], "deleted": false, "encryption_required": false,
        "schema_validation_enforced": false, "latency_stats_sample_rate": {}, "of_the_future": [1],
    });
    let policies: Policies = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(serde_json::to_value(&policies).unwrap(), stored);
}

#[test]
fn local_policies_have_the_recorded_form() {
    let stored = concat!(
        r#"{"bundles":{"boundaries":["0x00000000","0x40000000","0x80000000","0xc0000000","0xffffffff"],"#,
        r#""numBundles":4},"#,
        r#""namespaceAntiAffinityGroup":"grp","migrated":false}"#
    );
    let local: LocalPolicies = serde_json::from_str(stored).unwrap();
    assert_eq!(serde_json::to_string(&local).unwrap(), stored);
}
