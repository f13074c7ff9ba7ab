use serde_json::json;

use crate::world::World;

const C: &str = "/admin/v2/clusters";

#[tokio::test]
async fn clusters_are_made_changed_and_forgotten() {
    let world = World::start().await;
    assert_eq!(world.get(C).await.json(), json!(["standalone"]));
    let own = world.get(&format!("{C}/standalone")).await.json();
    assert_eq!(own["serviceUrl"], json!(format!("http://127.0.0.1:{}", world.http.port())));
    assert_eq!(own["brokerServiceUrl"], json!(format!("pulsar://127.0.0.1:{}", world.pulsar().port())));

    let again = world.put(&format!("{C}/standalone"), "{}").await;
    assert_eq!((again.status, again.reason().as_str()), (409, "Cluster already exists"));
    assert_eq!(
        world.put(&format!("{C}/west"), r#"{"serviceUrl":"http://west","authenticationPlugin":"p"}"#).await.status,
        204
    );
    assert_eq!(
        world.get(&format!("{C}/west")).await.json(),
        json!({"serviceUrl": "http://west", "authenticationPlugin": "p"})
    );
    assert_eq!(world.post(&format!("{C}/west"), r#"{"serviceUrl":"http://w2"}"#).await.status, 204);
    assert_eq!(world.get(&format!("{C}/west")).await.json(), json!({"serviceUrl": "http://w2"}));
    assert_eq!(world.put(&format!("{C}/we@st"), "{}").await.status, 412);

    assert_eq!(world.delete(&format!("{C}/west")).await.status, 204);
    for gone in [world.get(&format!("{C}/west")).await, world.delete(&format!("{C}/west")).await] {
        assert_eq!((gone.status, gone.reason().as_str()), (404, "Cluster does not exist"));
    }
    assert_eq!(world.delete(&format!("{C}/standalone")).await.status, 412);
}

#[tokio::test]
async fn peers_and_failure_domains_must_make_sense() {
    let world = World::start().await;
    world.put(&format!("{C}/west"), "{}").await;
    let peers = format!("{C}/standalone/peers");
    assert_eq!(world.get(&peers).await.json(), json!([]));
    assert_eq!(world.post(&peers, r#"["standalone"]"#).await.status, 412);
    assert_eq!(world.post(&peers, r#"["nowhere"]"#).await.status, 412);
    assert_eq!(world.post(&peers, r#"["west"]"#).await.status, 204);
    assert_eq!(world.get(&peers).await.json(), json!(["west"]));

    let domains = format!("{C}/standalone/failureDomains");
    assert_eq!(world.get(&domains).await.json(), json!({}));
    assert_eq!(world.post(&format!("{domains}/rack1"), r#"{"brokers":["a:1"]}"#).await.status, 204);
    assert_eq!(world.post(&format!("{domains}/rack2"), r#"{"brokers":["a:1"]}"#).await.status, 409);
    assert_eq!(world.get(&domains).await.json(), json!({"rack1": {"brokers": ["a:1"]}}));
    assert_eq!(world.get(&format!("{domains}/rack1")).await.json(), json!({"brokers": ["a:1"]}));
    assert_eq!(world.delete(&format!("{domains}/rack1")).await.status, 204);
    assert_eq!(world.get(&format!("{domains}/rack1")).await.status, 404);
}

#[tokio::test]
async fn isolation_policies_are_kept_and_tell_of_brokers() {
    let world = World::start().await;
    let policies = format!("{C}/standalone/namespaceIsolationPolicies");
    assert_eq!(world.get(&policies).await.status, 404);
    let policy = json!({
        "namespaces": ["public/.*"], "primary": ["127.0.0.1"], "secondary": [],
        "auto_failover_policy": {
            "policy_type": "min_available", "parameters": {"min_limit": "1", "usage_threshold": "80"},
        },
    });
    assert_eq!(world.post(&format!("{policies}/p"), &policy.to_string()).await.status, 204);
    assert_eq!(world.get(&policies).await.json(), json!({"p": policy}));
    assert_eq!(world.get(&format!("{policies}/p")).await.json(), policy);
    let brokers = world.get(&format!("{policies}/brokers")).await.json();
    assert_eq!((&brokers[0]["policyName"], &brokers[0]["isPrimary"]), (&json!("p"), &json!(true)));
    let broker = world.get(&format!("{policies}/brokers/other:8080")).await.json();
    assert_eq!(broker, json!({"brokerName": "other:8080", "isPrimary": false, "namespaceRegex": []}));
    assert_eq!(world.post(&format!("{policies}/bad"), r#"{"namespaces":["("],"primary":["x"]}"#).await.status, 400);
    assert_eq!(world.delete(&format!("{policies}/p")).await.status, 204);
    assert_eq!(world.get(&format!("{policies}/p")).await.status, 404);
}

#[tokio::test]
async fn a_migration_is_stored() {
    let world = World::start().await;
    let path = format!("{C}/standalone/migrate?migrated=true");
    assert_eq!(world.post(&path, "").await.status, 400);
    assert_eq!(world.post(&path, r#"{"brokerServiceUrl":"pulsar://green:6650"}"#).await.status, 200);
    let stored = world.get(&format!("{C}/standalone/migrate")).await.json();
    assert_eq!(stored, json!({"migrated": true, "migratedClusterUrl": {"brokerServiceUrl": "pulsar://green:6650"}}));
}
