use serde_json::{Value, json};

use crate::world::World;

const N: &str = "/admin/v2/namespaces/public/default";

#[tokio::test]
async fn a_policy_is_set_read_and_unset() {
    let world = World::start().await;
    let rate = json!({
        "dispatchThrottlingRateInMsg": 10, "dispatchThrottlingRateInByte": 1000, "relativeToPublishRate": false,
        "ratePeriodInSecond": 1,
    });
    for (name, value) in [
        ("messageTTL", json!(60)),
        ("retention", json!({"retentionTimeInMinutes": 10, "retentionSizeInMB": 100})),
        ("deduplication", json!(true)),
        (
            "persistence",
            json!({"bookkeeperEnsemble": 1, "bookkeeperWriteQuorum": 1, "bookkeeperAckQuorum": 1,
                "managedLedgerMaxMarkDeleteRate": 0.0}),
        ),
        (
            "autoTopicCreation",
            json!({"allowAutoTopicCreation": true, "topicType": "partitioned", "defaultNumPartitions": 2}),
        ),
        ("autoSubscriptionCreation", json!({"allowAutoSubscriptionCreation": false})),
        ("dispatchRate", rate.clone()),
        ("subscriptionDispatchRate", rate.clone()),
        ("replicatorDispatchRate", rate),
        ("publishRate", json!({"publishThrottlingRateInMsg": 10, "publishThrottlingRateInByte": 1000})),
        ("subscribeRate", json!({"subscribeThrottlingRatePerConsumer": 10, "ratePeriodInSecond": 30})),
        ("maxProducersPerTopic", json!(1)),
        ("maxConsumersPerTopic", json!(2)),
        ("maxConsumersPerSubscription", json!(3)),
        ("maxSubscriptionsPerTopic", json!(4)),
        ("maxUnackedMessagesPerConsumer", json!(5)),
        ("maxUnackedMessagesPerSubscription", json!(6)),
        ("subscriptionExpirationTime", json!(7)),
        ("compactionThreshold", json!(8)),
        ("offloadDeletionLagMs", json!(9)),
        (
            "inactiveTopicPolicies",
            json!({"inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 60,
                "deleteWhileInactive": true}),
        ),
        ("delayedDelivery", json!({"active": true, "tickTime": 1000})),
        ("offloadPolicies", json!({"offloadThresholdInBytes": 1})),
        ("deduplicationSnapshotInterval", json!(10)),
    ] {
        let path = format!("{N}/{name}");
        let unset = world.get(&path).await;
        assert_eq!((unset.status, unset.text()), (200, ""), "{name} before");
        let set = world.post(&path, &value.to_string()).await;
        assert_eq!(set.status, 204, "{name}: {}", set.text());
        assert_eq!(world.get(&path).await.json(), value, "{name}");
        assert_eq!(world.delete(&path).await.status, 204, "{name}");
        let unset = world.get(&path).await;
        assert_eq!((unset.status, unset.text()), (200, ""), "{name} after");
    }
}

#[tokio::test]
async fn policies_that_always_have_a_value_show_it() {
    let world = World::start().await;
    for (name, default, other) in [
        ("schemaCompatibilityStrategy", json!("UNDEFINED"), json!("FORWARD")),
        ("schemaValidationEnforced", json!(false), json!(true)),
        ("isAllowAutoUpdateSchema", json!(true), json!(false)),
        ("encryptionRequired", json!(false), json!(true)),
        ("maxTopicsPerNamespace", json!(0), json!(10)),
        ("offloadThreshold", json!(-1), json!(5)),
        ("offloadThresholdInSeconds", json!(-1), json!(5)),
        ("subscriptionAuthMode", json!("None"), json!("Prefix")),
        ("subscriptionTypesEnabled", json!([]), json!(["Shared", "Key_Shared"])),
        ("dispatcherPauseOnAckStatePersistent", json!(false), json!(true)),
    ] {
        let path = format!("{N}/{name}");
        assert_eq!(world.get(&path).await.json(), default, "{name}");
        let set = world.put(&path, &other.to_string()).await;
        assert_eq!(set.status, 204, "{name}: {}", set.text());
        assert_eq!(world.get(&path).await.json(), other, "{name}");
    }
    assert_eq!(world.get(&format!("{N}/schemaAutoUpdateCompatibilityStrategy")).await.status, 204);
    assert_eq!(world.put(&format!("{N}/schemaAutoUpdateCompatibilityStrategy"), r#""Full""#).await.status, 204);
}

#[tokio::test]
async fn values_that_cannot_be_are_refused_and_change_nothing() {
    let world = World::start().await;
    for (name, value, status) in [
        ("messageTTL", "-5", 412),
        ("messageTTL", r#""x""#, 400),
        ("messageTTL", "99999999999", 412),
        ("retention", r#"{"retentionTimeInMinutes":10,"retentionSizeInMB":0}"#, 400),
        ("retention", "5", 400),
        ("deduplication", "1", 400),
        ("persistence", r#"{"bookkeeperEnsemble":1,"bookkeeperWriteQuorum":2,"bookkeeperAckQuorum":1}"#, 400),
        (
            "autoTopicCreation",
            r#"{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":0}"#,
            412,
        ),
        ("maxProducersPerTopic", "-1", 412),
        ("schemaCompatibilityStrategy", r#""NOPE""#, 400),
        ("dispatchRate", "{nope", 400),
        ("bogus", "1", 404),
    ] {
        let refused = world.post(&format!("{N}/{name}"), value).await;
        assert_eq!(refused.status, status, "{name} {value}: {}", refused.text());
        assert!(!refused.reason().is_empty());
    }
    assert_eq!(world.get(&format!("{N}/messageTTL")).await.text(), "");
    assert_eq!(world.get(&format!("{N}/bogus")).await.status, 404);
    assert_eq!(world.delete(&format!("{N}/bogus")).await.status, 404);
}

#[tokio::test]
async fn a_backlog_quota_is_set_by_type() {
    let world = World::start().await;
    let (quota, map) = (format!("{N}/backlogQuota"), format!("{N}/backlogQuotaMap"));
    assert_eq!(world.get(&map).await.json(), json!({}));
    assert_eq!(world.post(&quota, r#"{"limitSize":10,"limitTime":5,"policy":"producer_exception"}"#).await.status, 204);
    let age = format!("{quota}?backlogQuotaType=message_age");
    assert_eq!(world.post(&age, r#"{"limit":"10240","policy":"consumer_backlog_eviction"}"#).await.status, 204);
    assert_eq!(world.post(&format!("{quota}?backlogQuotaType=bogus"), "{}").await.status, 404);
    assert_eq!(world.post(&quota, r#"{"policy":"drop_everything"}"#).await.status, 400);
    assert_eq!(
        world.get(&map).await.json(),
        json!({
            "destination_storage": {"limitSize": 10, "limitTime": 5, "policy": "producer_exception", "limit": 10},
            "message_age": {"limitSize": 10240, "limitTime": -1, "policy": "consumer_backlog_eviction", "limit": 10240},
        })
    );
    // What was read can be written back.
    let shown = world.get(&map).await.json()["destination_storage"].to_string();
    assert_eq!(world.post(&quota, &shown).await.status, 204);
    assert_eq!(world.delete(&quota).await.status, 204);
    assert_eq!(world.get(&map).await.json().as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn deduplication_begins_at_once() {
    let world = World::start().await;
    world.put("/admin/v2/persistent/public/default/t", "").await;
    let status = async || {
        let stats = world.get("/admin/v2/persistent/public/default/t/stats").await.json();
        stats["deduplicationStatus"].clone()
    };
    assert_eq!(status().await, json!("Disabled"));
    assert_eq!(world.post(&format!("{N}/deduplication"), "true").await.status, 204);
    assert_eq!(status().await, json!("Enabled"));
    assert_eq!(world.post(&format!("{N}/deduplication"), "false").await.status, 204);
    assert_eq!(status().await, json!("Disabled"));
}

#[tokio::test]
async fn affinity_replication_and_properties_are_kept() {
    let world = World::start().await;
    let group = format!("{N}/antiAffinity");
    assert_eq!(world.get(&group).await.status, 204);
    assert_eq!(world.post(&group, "").await.status, 412);
    for body in ["grp", r#""grp""#] {
        assert_eq!(world.post(&group, body).await.status, 204);
        assert_eq!(world.get(&group).await.json(), json!("grp"));
    }
    let members = "/admin/v2/namespaces/standalone/antiAffinity/GRP";
    assert_eq!(world.get(members).await.status, 400);
    assert_eq!(world.get(&format!("{members}?property=public")).await.json(), json!(["public/default"]));
    assert_eq!(world.delete(&group).await.status, 204);
    assert_eq!(world.get(&format!("{members}?tenant=public")).await.json(), json!([]));

    let bookies = format!("{N}/persistence/bookieAffinity");
    assert_eq!(world.get(&bookies).await.status, 404);
    assert_eq!(world.post(&bookies, r#"{"bookkeeperAffinityGroupPrimary":"a"}"#).await.status, 204);
    assert_eq!(world.get(&bookies).await.json(), json!({"bookkeeperAffinityGroupPrimary": "a"}));

    let replication = format!("{N}/replication");
    assert_eq!(world.get(&replication).await.json(), json!(["standalone"]));
    assert_eq!(world.post(&replication, r#"["nope"]"#).await.status, 403);
    assert_eq!(world.post(&replication, r#"["standalone"]"#).await.status, 200);

    let properties = format!("{N}/properties");
    assert_eq!(world.get(&properties).await.json(), json!({}));
    assert_eq!(world.put(&properties, r#"{"a":"b"}"#).await.status, 204);
    assert_eq!(world.put(&format!("{N}/property/c/d%2Fe"), "").await.status, 204);
    assert_eq!(world.get(&properties).await.json(), json!({"a": "b", "c": "d/e"}));
    assert_eq!(world.get(&format!("{N}/property/a")).await.text(), "b");
    assert_eq!(world.delete(&format!("{N}/property/a")).await.text(), "b");
    assert_eq!(world.delete(&properties).await.status, 204);
    assert_eq!(world.get(&properties).await.json(), Value::Object(serde_json::Map::new()));
}
