use serde_json::json;

use crate::world::World;

const B: &str = "/admin/v2/brokers";

#[tokio::test]
async fn the_broker_tells_of_itself() {
    let world = World::start().await;
    let id = format!("127.0.0.1:{}", world.http.port());
    assert_eq!(world.get(B).await.json(), json!([id]));
    assert_eq!(world.get(&format!("{B}/standalone")).await.json(), json!([id]));
    assert_eq!(world.get(&format!("{B}/nowhere")).await.status, 404);
    let leader = json!({"serviceUrl": format!("http://{id}"), "brokerId": id});
    assert_eq!(world.get(&format!("{B}/leaderBroker")).await.json(), leader);
    assert!(world.get(&format!("{B}/version")).await.text().starts_with("4.0"));
    assert!(world.get(&format!("{B}/internal-configuration")).await.json().get("ledgersRootPath").is_some());
    world.put("/admin/v2/persistent/public/default/t", "").await;
    let owned = world.get(&format!("{B}/standalone/{id}/ownedNamespaces")).await.json();
    let (bundle, status) = owned.as_object().unwrap().iter().next().unwrap();
    assert!(bundle.starts_with("public/default/0x"));
    assert_eq!(status["is_active"], json!(true));
    assert_eq!(world.get(&format!("{B}/standalone/other:1/ownedNamespaces")).await.status, 404);
}

#[tokio::test]
async fn a_healthy_broker_says_so_as_often_as_it_is_asked() {
    let world = World::start().await;
    for query in ["", "?topicVersion=V1", "?topicVersion=V2"] {
        let health = world.get(&format!("{B}/health{query}")).await;
        assert_eq!((health.status, health.text()), (200, "ok"));
    }
    let together = futures::future::join_all((0..8).map(|_| world.get("/admin/v2/brokers/health"))).await;
    assert!(together.iter().all(|health| health.status == 200));
}

#[tokio::test]
async fn a_broker_that_stops_is_not_ready() {
    let world = World::start().await;
    let ask = async |status: u16| {
        for path in ["/admin/v2/brokers/ready", "/status.html", "/status.json"] {
            assert_eq!(world.get(path).await.status, status, "{path}");
        }
    };
    ask(200).await;
    assert_eq!(world.get("/status.html").await.text(), "OK");
    assert_eq!(world.get("/status.json").await.json()["ready"], json!(true));
    world.ready.set(false);
    ask(503).await;
}

#[tokio::test]
async fn changed_settings_outlive_the_broker() {
    let world = World::start().await;
    let values = format!("{B}/configuration/values");
    assert_eq!(world.get(&values).await.json(), json!({}));
    let names = world.get(&format!("{B}/configuration")).await.json();
    assert!(names.as_array().unwrap().contains(&json!("maxTenants")));
    assert_eq!(world.post(&format!("{B}/configuration/maxTenants/3"), "").await.status, 204);
    assert_eq!(world.post(&format!("{B}/configuration/allowAutoTopicCreation/false"), "").await.status, 204);
    assert_eq!(world.get(&values).await.json(), json!({"maxTenants": "3", "allowAutoTopicCreation": "false"}));
    assert_eq!(world.get(&format!("{B}/configuration/runtime")).await.json()["maxTenants"], json!("3"));
    // It is followed.
    world.put("/admin/v2/tenants/third", "").await;
    assert_eq!(world.put("/admin/v2/tenants/fourth", "").await.status, 412);
    for refused in ["bogus/1", "maxMessageSize/1", "maxTenants/x"] {
        assert_eq!(world.post(&format!("{B}/configuration/{refused}"), "").await.status, 412, "{refused}");
    }
    assert_eq!(world.delete(&format!("{B}/configuration/allowAutoTopicCreation")).await.status, 204);
    assert_eq!(world.delete(&format!("{B}/configuration/bogus")).await.status, 412);

    let world = world.restart().await;
    assert_eq!(world.get(&values).await.json(), json!({"maxTenants": "3"}));
    assert_eq!(world.put("/admin/v2/tenants/fourth", "").await.status, 412);
}

#[tokio::test]
async fn figures_of_the_broker_are_json() {
    let world = World::start().await;
    world.put("/admin/v2/persistent/public/default/t", "").await;
    let report = world.get("/admin/v2/broker-stats/load-report").await.json();
    assert_eq!((&report["numTopics"], &report["loadReportType"]), (&json!(1), &json!("LocalBrokerData")));
    assert_eq!(report["bundles"].as_array().unwrap().len(), 1);
    let topics = world.get("/admin/v2/broker-stats/topics").await.json();
    let bundles = topics["public/default"].as_object().unwrap();
    let (_, domains) = bundles.iter().next().unwrap();
    assert!(domains["persistent"].get("persistent://public/default/t").is_some());
    let metrics = world.get("/admin/v2/broker-stats/metrics").await.json();
    assert_eq!(metrics[0]["dimensions"]["namespace"], json!("public/default"));
    assert_eq!(world.get("/admin/v2/broker-stats/mbeans").await.status, 501);
}

#[tokio::test]
async fn resource_quotas_are_kept_by_bundle() {
    let world = World::start().await;
    let quotas = "/admin/v2/resource-quotas";
    let bundle = format!("{quotas}/public/default/0x00000000_0x40000000");
    let default = world.get(quotas).await.json();
    assert_eq!(default["msgRateIn"], json!(40.0));
    assert_eq!(world.get(&bundle).await.json(), default);
    let own = r#"{"msgRateIn":1.0,"msgRateOut":2.0,"bandwidthIn":3.0,"bandwidthOut":4.0,"memory":5.0,"dynamic":false}"#;
    assert_eq!(world.post(&bundle, own).await.status, 204);
    assert_eq!(world.get(&bundle).await.json()["memory"], json!(5.0));
    assert_eq!(world.post(quotas, r#"{"msgRateIn":0}"#).await.status, 412);
    assert_eq!(world.post(quotas, r#"{"msgRateIn":50}"#).await.status, 204);
    assert_eq!(world.get(quotas).await.json()["msgRateIn"], json!(50.0));
    assert_eq!(world.delete(&bundle).await.status, 204);
    assert_eq!(world.get(&bundle).await.json()["msgRateIn"], json!(50.0));
    assert_eq!(world.get(&format!("{quotas}/public/default/0x00000000_0x50000000")).await.status, 412);
    assert_eq!(world.get(&format!("{quotas}/public/none/0x00000000_0x40000000")).await.status, 404);
}
