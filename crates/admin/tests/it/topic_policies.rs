use std::sync::Arc;

use plerion_broker::AllowAll;
use serde_json::json;

use crate::world::World;

const P: &str = "/admin/v2/persistent/public/default";

#[tokio::test]
async fn a_policy_is_set_read_and_unset() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    let rate = json!({
        "dispatchThrottlingRateInMsg": 10, "dispatchThrottlingRateInByte": 1000, "relativeToPublishRate": false,
        "ratePeriodInSecond": 1,
    });
    for (name, value, unset) in [
        ("maxUnackedMessagesOnConsumer", json!(100), 200),
        ("maxUnackedMessagesOnSubscription", json!(100), 200),
        ("maxProducers", json!(1), 200),
        ("maxConsumers", json!(1), 200),
        ("messageTTL", json!(1), 200),
        ("retention", json!({"retentionTimeInMinutes": 10, "retentionSizeInMB": 100}), 200),
        ("delayedDelivery", json!({"active": true, "tickTime": 5}), 200),
        ("dispatchRate", rate.clone(), 200),
        ("subscriptionDispatchRate", rate.clone(), 200),
        ("replicatorDispatchRate", rate, 200),
        ("publishRate", json!({"publishThrottlingRateInMsg": 1, "publishThrottlingRateInByte": 2}), 204),
        ("deduplicationEnabled", json!(true), 200),
        ("compactionThreshold", json!(5), 200),
        ("replication", json!(["standalone"]), 200),
        ("maxConsumersPerSubscription", json!(5), 204),
        ("maxMessageSize", json!(5), 204),
        ("maxSubscriptionsPerTopic", json!(5), 204),
        ("subscriptionTypesEnabled", json!(["Shared"]), 204),
        ("schemaCompatibilityStrategy", json!("FULL"), 200),
    ] {
        let path = format!("{P}/t/{name}");
        let before = world.get(&path).await;
        assert_eq!((before.status, before.text()), (unset, ""), "{name}");
        let set = world.post(&path, &value.to_string()).await;
        assert_eq!(set.status, 204, "{name}: {}", set.text());
        assert_eq!(world.get(&path).await.json(), value, "{name}");
        assert_eq!(world.delete(&path).await.status, 204, "{name}");
        assert_eq!(world.get(&path).await.text(), "", "{name}");
    }
    assert_eq!(world.get(&format!("{P}/t/schemaValidationEnforced")).await.json(), json!(false));
    assert_eq!(world.post(&format!("{P}/t/maxProducers"), "-1").await.status, 412);
    assert_eq!(world.post(&format!("{P}/t/bogus"), "1").await.status, 404);
}

#[tokio::test]
async fn a_policy_can_be_a_parameter_and_a_default_is_shown_when_asked_for() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    let ttl = format!("{P}/t/messageTTL");
    assert_eq!(world.post(&format!("{ttl}?messageTTL=30"), "").await.status, 204);
    assert_eq!(world.get(&ttl).await.json(), json!(30));
    world.delete(&ttl).await;
    assert_eq!(world.get(&format!("{ttl}?applied=true")).await.json(), json!(0));
    world.post("/admin/v2/namespaces/public/default/messageTTL", "7").await;
    assert_eq!(world.get(&format!("{ttl}?applied=true")).await.json(), json!(7));
    assert_eq!(world.get(&ttl).await.text(), "");
    let unacked = world.get(&format!("{P}/t/maxUnackedMessagesOnConsumer?applied=true")).await;
    assert_eq!(unacked.json(), json!(50_000));
}

#[tokio::test]
async fn a_missing_topic_has_no_policies() {
    let world = World::start().await;
    let path = format!("{P}/nope/maxUnackedMessagesOnConsumer");
    for answer in [world.get(&path).await, world.post(&path, "1").await, world.delete(&path).await] {
        assert_eq!(
            (answer.status, answer.reason().as_str()),
            (404, "Topic persistent://public/default/nope not found")
        );
    }
    world.put(&format!("{P}/p/partitions"), "2").await;
    assert_eq!(world.post(&format!("{P}/p/maxProducers"), "3").await.status, 204);
    assert_eq!(world.get(&format!("{P}/p-partition-1/maxProducers")).await.json(), json!(3));
}

#[tokio::test]
async fn policies_go_with_their_topic() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    world.post(&format!("{P}/t/maxProducers"), "3").await;
    world.delete(&format!("{P}/t")).await;
    world.put(&format!("{P}/t"), "").await;
    assert_eq!(world.get(&format!("{P}/t/maxProducers")).await.text(), "");
}

#[tokio::test]
async fn quotas_are_set_by_type() {
    let world = World::start().await;
    world.put(&format!("{P}/t"), "").await;
    assert_eq!(world.get(&format!("{P}/t/backlogQuotaMap")).await.json(), json!({}));
    assert_eq!(
        world.post(&format!("{P}/t/backlogQuota"), r#"{"limitSize":10,"policy":"producer_exception"}"#).await.status,
        204
    );
    let quotas = world.get(&format!("{P}/t/backlogQuotaMap")).await.json();
    assert_eq!(quotas["destination_storage"]["limitSize"], json!(10));
    assert_eq!(world.delete(&format!("{P}/t/backlogQuota")).await.status, 204);
    assert_eq!(world.get(&format!("{P}/t/backlogQuotaMap")).await.json(), json!({}));
}

#[tokio::test]
async fn policies_can_be_switched_off() {
    let world = World::with(&[("topicLevelPoliciesEnabled", "false")], Arc::new(AllowAll)).await;
    world.put(&format!("{P}/t"), "").await;
    let path = format!("{P}/t/maxUnackedMessagesOnConsumer");
    assert_eq!(world.get(&path).await.status, 405);
    assert_eq!(world.post(&path, "1").await.status, 405);
}
